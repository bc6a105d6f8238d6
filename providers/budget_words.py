"""What CharMem says about budgets: why a call is not made, what is nearly used up."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.wording import money, number
from providers.base import ProviderError

if TYPE_CHECKING:
    from providers.budget_sums import Standing
    from providers.models import Connection

_LIMITS = {
    (False, "day"): gettext_lazy("Your limit of %(limit)s a day would be passed: %(spent)s are used"),
    (False, "month"): gettext_lazy("Your limit of %(limit)s a month would be passed: %(spent)s are used"),
    (True, "day"): gettext_lazy("The limit of everybody here, %(limit)s a day, would be passed: %(spent)s are used"),
    (True, "month"): gettext_lazy(
        "The limit of everybody here, %(limit)s a month, would be passed: %(spent)s are used"
    ),
}
_NEAR = {
    (False, "day"): gettext_lazy("%(spent)s of your %(limit)s for today are used."),
    (False, "month"): gettext_lazy("%(spent)s of your %(limit)s for this month are used."),
    (True, "day"): gettext_lazy("%(spent)s of the %(limit)s that all here share today are used."),
    (True, "month"): gettext_lazy("%(spent)s of the %(limit)s that all here share this month are used."),
}
_REACHED = {
    (False, "day"): gettext_lazy("Your %(limit)s for today are used up; models are asked again tomorrow."),
    (False, "month"): gettext_lazy("Your %(limit)s for this month are used up; models are asked again next month."),
    (True, "day"): gettext_lazy(
        "The %(limit)s that all here share today are used up; models are asked again tomorrow."
    ),
    (True, "month"): gettext_lazy(
        "The %(limit)s that all here share this month are used up; models are asked again next month."
    ),
}


def amount(value: Decimal | float, unit: str) -> str:
    """“14.6 ¢”, or “12,000 tokens”."""
    return money(value) if unit == "money" else str(_("%(n)s tokens") % {"n": number(int(value))})


def refusal(standing: Standing, more: Decimal | int) -> str:
    """Why this call is not made."""
    facts = {"limit": amount(standing.limit, standing.unit), "spent": amount(standing.spent, standing.unit)}
    return str(_LIMITS[standing.is_instance, standing.kind] % facts) + str(
        _(
            " and this call may take %(more)s. Nothing was sent, and what was done stays. "
            "Raise the limit under Settings, Spending, or wait."
        )
        % {"more": amount(more, standing.unit)}
    )


def goes_on(standing: Standing) -> str:
    """When it goes on by itself."""
    if standing.kind == "day":
        return str(_("It goes on by itself when the day is over, or as soon as the limit is raised."))
    return str(_("It goes on by itself when the month is over, or as soon as the limit is raised."))


def warning(standing: Standing) -> str:
    """One sentence about a limit that is nearly used up."""
    facts = {"limit": amount(standing.limit, standing.unit), "spent": amount(standing.spent, standing.unit)}
    pattern = _REACHED if standing.is_reached else _NEAR
    return str(pattern[standing.is_instance, standing.kind] % facts)


def unpriced(connection: Connection, *, is_instance: bool) -> ProviderError:
    """Why a model without a price is not called."""
    whose = _("the limits of everybody here do") if is_instance else _("your limits do")
    return ProviderError(
        _("Nobody knows what %(name)s costs, and %(whose)s not allow such calls. Nothing was sent.")
        % {"name": connection.name, "whose": whose},
        retryable=False,
        hint=_("Enter its prices under Settings, Models, or allow it under Settings, Spending, Limits."),
        error_type="price",
    )
