"""The page about quality: what happens to a doubtful bullet, what a second question costs, how each model fares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import Avg
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from memories import doubts, gate_counts
from memories.choices import ACCEPT, ACTIONS, CHECKS, FLAG, QUEUE, REPAIR, Choices
from memories.gate_counts import DAYS, Tally
from memories.price import CHECKING_ANSWER
from providers.models import Call
from providers.prices import price_of
from providers.purposes import EXTRACTION
from providers.queries import connection_for

ACTION_WORDS: dict[str, str | Promise] = {
    ACCEPT: _("Accept it"),
    FLAG: _("Mark it"),
    QUEUE: _("Hold it back"),
    REPAIR: _("Ask once to mend it"),
}
LAST_CALLS = 50
CHECKING_TOKENS = 1_900  # of one further question, when nothing was asked yet: twenty messages and the bullets
CHART = (1_000.0, 72.0)  # units of the picture
BAR = 0.8  # of a day's width


@dataclass(frozen=True)
class CheckRow:
    """One check: what it looks for, what is chosen, and how many bullets it doubted in 30 days."""

    check: str
    action: str
    struck: int

    @property
    def name(self) -> str:
        return doubts.name(self.check)

    @property
    def meaning(self) -> str:
        return doubts.meaning(self.check)

    @property
    def is_usual(self) -> bool:
        return self.action == CHECKS[self.check]

    @property
    def options(self) -> list[tuple[str, str, bool]]:
        """(value, words, whether chosen)."""
        return [(one, str(ACTION_WORDS[one]), one == self.action) for one in ACTIONS]


@dataclass(frozen=True)
class Part:
    """One piece of a bar in the picture of shares."""

    kind: str  # clean, flagged, held, refused
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class ModelRow:
    """One model with its numbers and its picture: shares of its bullets, day by day."""

    tally: Tally
    parts: list[Part]

    def share(self, number: int) -> int:
        """Percent of all bullets."""
        return round(100 * number / self.tally.bullets) if self.tally.bullets else 0

    @property
    def shares(self) -> list[tuple[int, int]]:
        """(number, percent) of kept without a mark, marked, held back, refused."""
        one = self.tally
        return [(n, self.share(n)) for n in (one.clean, one.flagged, one.held, one.refused)]


@dataclass(frozen=True)
class Price:
    """What the second question takes for each stretch; `dollars` is None when the connection has no price."""

    tokens: int
    dollars: Decimal | None
    is_measured: bool


def check_rows(user: User, choices: Choices) -> list[CheckRow]:
    """All checks in their order."""
    struck = gate_counts.struck(user)
    return [CheckRow(check, choices.action(check), struck.get(check, 0)) for check in CHECKS]


def model_rows(user: User) -> list[ModelRow]:
    """The models of the last 30 days, the one that wrote most first."""
    return [ModelRow(one, _parts(user, one)) for one in gate_counts.tallies(user)]


def chosen(posted: Mapping[str, str]) -> dict[str, str]:
    """The actions of a form that differ from the usual ones; unknown values are as usual."""
    found = {check: posted.get(f"check-{check}", "") for check in CHECKS}
    return {check: one for check, one in found.items() if one in ACTIONS and one != CHECKS[check]}


def checking_price(user: User) -> Price:
    """What the last such calls took on average; an estimate before there was one."""
    calls = Call.objects.for_user(user).filter(purpose="checking", prompt_tokens__isnull=False)
    ids = list(calls.order_by("-started_at").values_list("pk", flat=True)[:LAST_CALLS])
    fields = {"sent": Avg("prompt_tokens"), "got": Avg("completion_tokens")}
    seen = Call.objects.for_user(user).filter(pk__in=ids).aggregate(**fields)
    sent, got = round(seen["sent"] or CHECKING_TOKENS), round(seen["got"] or CHECKING_ANSWER)
    by = connection_for(user, EXTRACTION)
    return Price(sent + got, price_of(by).cost(sent, got) if by is not None else None, bool(ids))


def _parts(user: User, tally: Tally) -> list[Part]:
    """Bars from the bottom up: kept, marked, held back, refused."""
    width, height = CHART[0] / DAYS, CHART[1]
    first = gate_counts.first_day(user)
    found = []
    for row in tally.days:
        counts = {"clean": row.kept - row.flagged, "flagged": row.flagged, "held": row.held, "refused": row.refused}
        total, below = sum(counts.values()), height
        x = (row.day - first) / timedelta(days=1) * width
        for kind, number in counts.items():
            if number:
                tall = height * number / total
                below -= tall
                found.append(Part(kind, x, below, width * BAR, tall))
    return found
