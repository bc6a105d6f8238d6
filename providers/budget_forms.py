"""The form of a budget. It checks; budgets.set_budget writes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers.models import Budget

AMOUNTS = ("day_money", "month_money", "day_tokens", "month_tokens")


class BudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    """Limits; an empty field is no limit."""

    class Meta:
        model = Budget
        fields = (*AMOUNTS, "warn_percent", "refuses_unpriced", "is_fixed")
        labels = {
            "day_money": gettext_lazy("Dollars a day"),
            "month_money": gettext_lazy("Dollars a month"),
            "day_tokens": gettext_lazy("Tokens a day"),
            "month_tokens": gettext_lazy("Tokens a month"),
            "warn_percent": gettext_lazy("Warn from this percentage on"),
            "refuses_unpriced": gettext_lazy("Ask no model whose price is unknown"),
            "is_fixed": gettext_lazy("Only an admin may change these limits"),
        }
        widgets = {
            **{name: forms.NumberInput({"class": "input", "min": "0", "step": "any"}) for name in AMOUNTS[:2]},
            **{name: forms.NumberInput({"class": "input", "min": "0"}) for name in AMOUNTS[2:]},
            "warn_percent": forms.NumberInput({"class": "input", "min": "1", "max": "100"}),
            "refuses_unpriced": forms.CheckboxInput({"class": "check"}),
            "is_fixed": forms.CheckboxInput({"class": "check"}),
        }

    def __init__(self, *args: Any, may_fix: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in AMOUNTS[:2]:
            self.initial[name] = _short(self.initial.get(name))
        for name in AMOUNTS:
            self.fields[name].widget.attrs["placeholder"] = _("no limit")
        if not may_fix:
            del self.fields["is_fixed"]

    def clean_warn_percent(self) -> int:
        return min(100, max(1, int(self.cleaned_data["warn_percent"])))

    def clean(self) -> dict[str, Any] | None:
        """Negative limits make no sense; a limit of nothing does."""
        for name in AMOUNTS[:2]:
            value = self.cleaned_data.get(name)
            if value is not None and value < 0:
                self.add_error(name, ValidationError(_("A limit is nothing or more.")))
        return self.cleaned_data

    def _post_clean(self) -> None:
        """The row is written by budgets.py alone; the form leaves it as it is."""


def _short(value: Any) -> Any:
    """“5” instead of “5.0000”."""
    return value if value is None else f"{value.normalize():f}"
