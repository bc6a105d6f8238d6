"""How the bullets of each model fare, day by day: kept, marked, held back, refused, mended, and which check struck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from memories.extraction_verdict import Findings
from memories.local_time import local_now
from memories.models import GateCount

DAYS = 30
FIELDS = ("calls", "kept", "flagged", "held", "refused", "mended")


@dataclass(frozen=True)
class Tally:
    """The bullets of one model in some days. Flagged ones are among the kept."""

    model: str
    calls: int = 0
    kept: int = 0
    flagged: int = 0
    held: int = 0
    refused: int = 0
    mended: int = 0
    days: tuple[GateCount, ...] = field(default=(), repr=False)

    @property
    def bullets(self) -> int:
        """All that the model wrote."""
        return self.kept + self.held + self.refused

    @property
    def clean(self) -> int:
        """Kept without a mark."""
        return self.kept - self.flagged


def count(user: User, model: str, findings: Findings) -> None:
    """Add one answer. Call inside the commit that writes its memories.

    Whoever else counts the same model now is not overwritten: `calls` grows with every write, so it tells them apart.
    """
    kept = findings.memories
    more = {
        "calls": 1,
        "kept": kept,
        "flagged": findings.flagged,
        "held": len(findings.held),
        "refused": findings.repeated + findings.refused,
        "mended": findings.mended,
    }
    rows = GateCount.objects.for_user(user).filter(day=_today(user), model=model[:200])
    grown = {name: F(name) + number for name, number in more.items() if number}
    if not findings.struck and rows.update(**grown):
        return
    while True:
        row, _new = rows.get_or_create(defaults={"owner": user, "day": _today(user), "model": model[:200]})
        checks = dict(Counter(row.checks) + Counter(findings.struck))
        if rows.filter(calls=row.calls).update(**grown, checks=checks):
            return


def struck(user: User, days: int = DAYS) -> Mapping[str, int]:
    """How many bullets each check doubted in the last days."""
    found: Counter[str] = Counter()
    for checks in _rows(user, days).values_list("checks", flat=True):
        found.update({str(name): int(number) for name, number in checks.items()})
    return found


def tallies(user: User, days: int = DAYS) -> list[Tally]:
    """One for each model, the one that wrote most first."""
    by_model: dict[str, list[GateCount]] = {}
    for row in _rows(user, days).order_by("day"):
        by_model.setdefault(row.model, []).append(row)
    found = [
        Tally(model, **{name: sum(getattr(row, name) for row in rows) for name in FIELDS}, days=tuple(rows))
        for model, rows in by_model.items()
    ]
    return sorted(found, key=lambda one: (-one.bullets, one.model))


def first_day(user: User, days: int = DAYS) -> date:
    """The first of the days that are counted."""
    return _today(user) - timedelta(days=days - 1)


def _rows(user: User, days: int) -> QuerySet[GateCount]:
    return GateCount.objects.for_user(user).filter(day__gte=first_day(user, days))


def _today(user: User) -> date:
    return local_now(user, timezone.now()).date()
