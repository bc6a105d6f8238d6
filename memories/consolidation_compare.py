"""Two results of the same choice as the page shows them side by side."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from accounts.models import User
from memories.consolidation_reads import Side, compare
from memories.consolidation_setup import strategy_title
from memories.models import Proposal

SHOWN = 150  # differences on one page


@dataclass(frozen=True)
class SideFacts:
    """One result in figures."""

    proposal: Proposal
    title: str
    model: str
    before: int
    after: int
    missing: int
    dropped: int
    invented: int
    tokens_after: int
    calls: int
    cost: Decimal | None


@dataclass(frozen=True)
class Held:
    """What one result made of one old memory: the new words, or what became of it."""

    title: str
    texts: list[str]
    fate: str


@dataclass(frozen=True)
class Row:
    """One old memory of which the results make different things."""

    text: str
    sides: tuple[Held, Held]


def side_by_side(user: User, left: Proposal, right: Proposal) -> dict[str, Any]:
    """Context of the comparison: `sides`, `differences`, and how many `more` there are."""
    found = compare(user, left, right)
    titles = [strategy_title(user, one.strategy) for one in (found.a, found.b)]
    if titles[0] == titles[1]:
        times = [date_format(localtime(one.created_at), "H:i") for one in (left, right)]
        titles = [
            _("%(strategy)s, %(time)s") % {"strategy": t, "time": at} for t, at in zip(titles, times, strict=True)
        ]
    words = {
        "missing": _("not accounted for"),
        "dropped": _("left out"),
        "let_go": _("let go"),
        "": _("not part of this run"),
    }
    rows = []
    for one in found.differences[:SHOWN]:
        pair = [
            Held(title, texts, words.get(fate, ""))
            for title, texts, fate in zip(titles, one.texts, one.fates, strict=True)
        ]
        rows.append(Row(one.text, (pair[0], pair[1])))
    sides = [_facts(side, title) for side, title in zip((found.a, found.b), titles, strict=True)]
    return {"sides": sides, "differences": rows, "more": max(0, len(found.differences) - SHOWN)}


def _facts(side: Side, title: str) -> SideFacts:
    return SideFacts(
        proposal=side.proposal,
        title=title,
        model=side.model,
        before=side.before,
        after=side.after,
        missing=side.fates.get("missing", 0),
        dropped=side.fates.get("dropped", 0) + side.fates.get("let_go", 0),
        invented=side.invented,
        tokens_after=side.tokens_after,
        calls=side.calls,
        cost=side.cost,
    )
