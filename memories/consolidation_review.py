"""The review of a consolidation: what became of every old memory, beside the new ones as the draft has them now.

What a person changes in the draft counts: an old memory whose new one was taken out again is shown as lost.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator

from memories import drafts
from memories.consolidation_parts import fates_of
from memories.consolidation_reads import undecided
from memories.draft_cards import DraftCard, whole
from memories.models import Draft, Proposal

ROWS_A_PAGE = 12
LOST_SHOWN = 60
LET_GO = ("dropped", "let_go")


@dataclass(frozen=True)
class Source:
    """One old memory: its words, its place, and where it went (`to` are numbers of bullets in the card beside it)."""

    id: str
    text: str
    label: str
    date: str
    fate: str
    into: tuple[str, ...]
    reason: str
    nearest: dict[str, Any] | None
    block: str = ""


@dataclass
class Went:
    """An old memory beside a new block, with the new bullets of this block that hold it."""

    source: Source
    to: list[tuple[int, str]]


@dataclass
class ReviewRow:
    """A new block with the old memories that it is made of."""

    card: DraftCard
    went: list[Went] = field(default_factory=list)

    @property
    def blocks(self) -> int:
        """How many old blocks these come from."""
        return len({one.source.block or (one.source.label, one.source.date) for one in self.went})


class Review:
    """Everything that the page says, read from the proposal's report and its draft."""

    def __init__(self, proposal: Proposal, draft: Draft, number: Any = 1) -> None:
        self.proposal = proposal
        self.draft = draft
        self.view = drafts.view(draft)
        self.report: dict[str, Any] = proposal.report
        self.number = number

    @cached_property
    def sources(self) -> list[Source]:
        """All old memories in file order."""
        return [_source(key, facts) for key, facts in fates_of(self.proposal).items()]

    @cached_property
    def standing(self) -> set[str]:
        """Which of the bullets that sources went into are still in the draft."""
        wanted = {one for source in self.sources for one in source.into}
        return {str(row.id) for row in self.view.memories(sorted(wanted))}

    @cached_property
    def lost(self) -> list[Source]:
        """Not accounted for, and nothing decided: the model lost them, or the person took out what held them."""
        open_ones = set(undecided(self.proposal))
        return [one for one in self.sources if one.id in open_ones or self._is_taken_out(one)]

    @cached_property
    def shown_lost(self) -> list[Source]:
        return self.lost[:LOST_SHOWN]

    @cached_property
    def left_out(self) -> list[Source]:
        """Left out on purpose: by the model with its reason, or by the person."""
        return [one for one in self.sources if one.fate in LET_GO]

    @property
    def found(self) -> int:
        """Old memories that found their way."""
        return len(self.sources) - len(self.lost) - len(self.left_out)

    @cached_property
    def new_blocks(self) -> list[str]:
        """The blocks that the draft adds and that still have bullets, in file order."""
        made = {key for key, change in self.view.overlay.blocks.items() if change.is_made}
        return [str(one) for one, bullets in self.view.listing(newest=False) if str(one) in made and bullets]

    @cached_property
    def new_memories(self) -> int:
        """New bullets, topic tags not counted."""
        wanted = set(self.new_blocks)
        return sum(bullets for one, bullets in self.view.listing(newest=False) if str(one) in wanted)

    @cached_property
    def page(self) -> Page[str]:
        """The new blocks of this page."""
        return Paginator(self.new_blocks, ROWS_A_PAGE).get_page(self.number)

    @cached_property
    def rows(self) -> list[ReviewRow]:
        """The new blocks of this page, each with the old memories that went into it."""
        found = [ReviewRow(card) for card in whole(self.draft, self.view, self.page.object_list)]
        places = {str(b.memory.id): (row, n) for row in found for n, b in enumerate(row.card.bullets, start=1)}
        for row, number in places.values():
            row.card.bullets[number - 1].number = number
        for source in self.sources:
            by_row: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
            for one in source.into:
                if one in places:
                    row, number = places[one]
                    by_row[found.index(row)].append((number, one))
            for at, to in by_row.items():
                found[at].went.append(Went(source, sorted(to)))
        return found

    @property
    def cost(self) -> Decimal | None:
        """Dollars that this run cost; None when the model has no price."""
        cost = self.report.get("cost")
        return None if cost is None else Decimal(cost)

    @property
    def tokens(self) -> dict[str, int]:
        return self.report.get("tokens") or {}

    def _is_taken_out(self, source: Source) -> bool:
        return source.fate in ("kept", "merged", "put_back") and not self.standing & set(source.into)


def _source(key: str, facts: dict[str, Any]) -> Source:
    return Source(
        id=key,
        text=facts.get("text", ""),
        label=facts.get("label", ""),
        date=facts.get("date", ""),
        fate=facts["fate"],
        into=tuple(facts.get("into", ())),
        reason=facts.get("reason", ""),
        nearest=facts.get("nearest"),
        block=facts.get("block", ""),
    )
