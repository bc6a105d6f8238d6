"""What an admin sees of everybody's limits: sums, never what a call was about."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Sum
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from providers.budget_sums import scope_of
from providers.models import Budget, Call
from providers.periods import period


@dataclass(frozen=True)
class PersonLine:
    """One person: this month's money, by the server's calendar, and their limits (an empty row: none)."""

    person: User
    month: Decimal
    budget: Budget


def people() -> list[PersonLine]:
    """Everybody who is here, by name: three queries."""
    start = period("month", timezone.now(), timezone.get_default_timezone()).start
    with unscoped("sums of everybody for an admin"):
        rows = Call.objects.filter(started_at__gte=start).order_by().values("owner").annotate(sum=Sum("cost"))
        spent = {row["owner"]: row["sum"] or Decimal(0) for row in rows}
    limits = Budget.objects.in_bulk(field_name="scope")
    return [
        PersonLine(one, spent.get(one.pk, Decimal(0)), limits.get(scope_of(one.pk)) or Budget())
        for one in User.objects.order_by("username")
    ]
