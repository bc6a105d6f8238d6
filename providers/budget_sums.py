"""How the limits of a budget stand: what is used of each, and what calls under way may still take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from providers.ledger import UNFINISHED
from providers.models import Budget, Call
from providers.periods import Kind, Period, period, zone_named

INSTANCE = "instance"
UNDER_WAY = timedelta(hours=1)  # a call that did not end by then belonged to a process that died
LIMITS: tuple[tuple[Kind, str], ...] = (("day", "money"), ("day", "tokens"), ("month", "money"), ("month", "tokens"))


@dataclass(frozen=True)
class Need:
    """What a call may take at most. `money` is None when nobody knows its price."""

    money: Decimal | None
    tokens: int


@dataclass(frozen=True)
class Standing:
    """One limit and how much of it is used, with what calls under way may still take."""

    is_instance: bool
    kind: Kind
    unit: str  # money, tokens
    spent: Decimal | int
    limit: Decimal | int
    period: Period
    warn_percent: int

    @property
    def share(self) -> float:
        """Used part of the limit; 1 for a limit of nothing."""
        return float(self.spent / self.limit) if self.limit else 1.0

    @property
    def is_reached(self) -> bool:
        return self.spent >= self.limit

    @property
    def is_near(self) -> bool:
        """Near enough for a warning."""
        return self.share * 100 >= self.warn_percent

    def runs_out_at(self, now: datetime) -> datetime | None:
        """When it is used up at this pace, if that is before the period ends; None before a tenth of it is over."""
        gone, whole = now - self.period.start, self.period.end - self.period.start
        if not self.spent or self.is_reached or gone < whole / 10:
            return None
        moment = self.period.start + gone * float(self.limit / self.spent)
        return moment if moment < self.period.end else None

    def is_passed_by(self, need: Need) -> bool:
        """Whether such a call could pass the limit. What costs nothing never passes a limit of money."""
        more = need.tokens if self.unit == "tokens" else need.money
        return bool(more) and self.spent + (more or 0) > self.limit


def scope_of(owner_id: Any) -> str:
    """The name of a person's own budget."""
    return f"person:{owner_id}"


def has_rules(budget: Budget) -> bool:
    return budget.refuses_unpriced or any(limit_of(budget, *limit) is not None for limit in LIMITS)


def limit_of(budget: Budget, kind: Kind, unit: str) -> Decimal | int | None:
    found: Decimal | int | None = getattr(budget, f"{kind}_{unit}")
    return found


def standings(budget: Budget, zone: tzinfo, now: datetime | None = None) -> list[Standing]:
    """Each limit that is set, and how it stands: two queries for the day, two for the month."""
    now = now or timezone.now()
    is_instance, sums = budget.scope == INSTANCE, dict[Kind, dict[str, Any]]()
    found = []
    for kind, unit in LIMITS:
        if (limit := limit_of(budget, kind, unit)) is not None:
            span = period(kind, now, zone)
            sums[kind] = sums.get(kind) or _sums(budget, span, now)
            found.append(Standing(is_instance, kind, unit, sums[kind][unit], limit, span, budget.warn_percent))
    return found


def zone_of(budget: Budget, person: User) -> tzinfo:
    """In whose days a budget counts."""
    server = timezone.get_default_timezone()
    return server if budget.scope == INSTANCE else zone_named(person.time_zone, server)


def _calls(budget: Budget) -> QuerySet[Call]:
    rows = Call.objects.order_by()
    return rows if budget.scope == INSTANCE else rows.filter(owner=budget.person_id)


def _sums(budget: Budget, span: Period, now: datetime) -> dict[str, Any]:
    """Money and tokens of a period: of calls that ended, and what those under way may take."""
    with unscoped("sums for a budget, without a look at what the calls were about"):
        rows = _calls(budget).filter(started_at__gte=span.start, started_at__lt=span.end)
        ended = rows.aggregate(money=Sum("cost"), sent=Sum("prompt_tokens"), answered=Sum("completion_tokens"))
        waiting = rows.filter(started_at__gte=max(span.start, now - UNDER_WAY), error_type=UNFINISHED)
        kept = waiting.aggregate(money=Sum("reserved"), tokens=Sum("reserved_tokens"))
    return {
        "money": (ended["money"] or Decimal(0)) + (kept["money"] or 0),
        "tokens": (ended["sent"] or 0) + (ended["answered"] or 0) + (kept["tokens"] or 0),
    }


def unpriced_calls(budget: Budget, span: Period) -> int:
    """Calls of a period whose price nobody knows: no limit of money can count them."""
    with unscoped("a count for a budget, without a look at what the calls were about"):
        rows = _calls(budget).filter(started_at__gte=span.start, started_at__lt=span.end, cost=None)
        return rows.exclude(error_type=UNFINISHED).count()
