"""How the limits of a budget stand: what is used of each, and what calls under way may still take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
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
    unpriced: int  # calls in this period whose price is unknown: no money limit can count them

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
    """Each limit that is set, and how it stands: one query."""
    now = now or timezone.now()
    limits = [(kind, unit, limit) for kind, unit in LIMITS if (limit := limit_of(budget, kind, unit)) is not None]
    if not limits:
        return []
    periods = {kind: period(kind, now, zone) for kind, _unit, _limit in limits}
    sums = _sums(budget, periods, now)
    is_instance = budget.scope == INSTANCE
    return [
        Standing(
            is_instance, kind, unit, sums[f"{kind}_{unit}"], limit, periods[kind], budget.warn_percent,
            sums[f"{kind}_unpriced"],
        )
        for kind, unit, limit in limits
    ]  # fmt: skip


def zone_of(budget: Budget, person: User) -> tzinfo:
    """In whose days a budget counts."""
    server = timezone.get_default_timezone()
    return server if budget.scope == INSTANCE else zone_named(person.time_zone, server)


def _calls(budget: Budget) -> QuerySet[Call]:
    rows = Call.objects.order_by()
    return rows if budget.scope == INSTANCE else rows.filter(owner=budget.person_id)


def _sums(budget: Budget, periods: dict[Kind, Period], now: datetime) -> dict[str, Any]:
    """Money, tokens and calls of unknown price of each period."""
    under_way = Q(error_type=UNFINISHED, started_at__gte=now - UNDER_WAY)
    wanted: dict[str, Any] = {}
    for kind, span in periods.items():
        inside = Q(started_at__gte=span.start, started_at__lt=span.end)
        wanted[f"{kind}_cost"] = Sum("cost", filter=inside)
        wanted[f"{kind}_kept"] = Sum("reserved", filter=inside & under_way)
        wanted[f"{kind}_sent"] = Sum("prompt_tokens", filter=inside)
        wanted[f"{kind}_answered"] = Sum("completion_tokens", filter=inside)
        wanted[f"{kind}_kept_tokens"] = Sum("reserved_tokens", filter=inside & under_way)
        wanted[f"{kind}_unpriced"] = Count("pk", filter=inside & Q(cost=None) & ~Q(error_type=UNFINISHED))
    with unscoped("sums for a budget, without a look at what the calls were about"):
        found = _calls(budget).filter(started_at__gte=min(span.start for span in periods.values())).aggregate(**wanted)
    for kind in periods:
        found[f"{kind}_money"] = (found[f"{kind}_cost"] or Decimal(0)) + (found[f"{kind}_kept"] or 0)
        tokens = (found[f"{kind}_{part}"] or 0 for part in ("sent", "answered", "kept_tokens"))
        found[f"{kind}_tokens"] = sum(tokens)
    return found
