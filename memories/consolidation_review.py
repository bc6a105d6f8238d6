"""The review of a consolidation: what became of every old memory, beside the new ones as the draft has them now.

What a person changes in the draft counts: an old memory whose new one was taken out again is shown as lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator

from memories import drafts
from memories.consolidation_parts import fates_of
from memories.consolidation_reads import undecided
from memories.draft_cards import BULLETS_A_PAGE, DraftCard, cards, parts_on
from memories.memory_list import Part, pages_of
from memories.models import Draft, Proposal

ROWS_A_PAGE = 240  # old and new memories side by side; with those above and below, no more than 400
LOST_SHOWN = LEFT_OUT_SHOWN = 60
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

    @property
    def shown(self) -> list[Went]:
        return self.went[:ROWS_A_PAGE]

    @property
    def more(self) -> int:
        """Old memories that are named by their number only; each new memory's evidence lists its own."""
        return len(self.went) - len(self.shown)


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
    def _block_of(self) -> dict[str, str]:
        wanted = {one for source in self.sources for one in source.into}
        return {str(row.id): str(row.block_id) for row in self.view.memories(sorted(wanted))}

    @cached_property
    def lost(self) -> list[Source]:
        """Not accounted for, and nothing decided: the model lost them, or the person took out what held them."""
        open_ones = set(undecided(self.proposal, self.view))
        return [one for one in self.sources if one.id in open_ones]

    @cached_property
    def shown_lost(self) -> list[Source]:
        return self.lost[:LOST_SHOWN]

    @property
    def shown_left_out(self) -> list[Source]:
        return self.left_out[:LEFT_OUT_SHOWN]

    @cached_property
    def left_out(self) -> list[Source]:
        """Left out on purpose: by the model with its reason, or by the person."""
        return [one for one in self.sources if one.fate in LET_GO]

    @property
    def found(self) -> int:
        """Old memories that found their way."""
        return len(self.sources) - len(self.lost) - len(self.left_out)

    @cached_property
    def new_blocks(self) -> list[tuple[UUID, int]]:
        """The blocks that the draft adds and that still have bullets, in file order, with their number."""
        made = {key for key, change in self.view.overlay.blocks.items() if change.is_made}
        return [(one, bullets) for one, bullets in self.view.listing(newest=False) if str(one) in made and bullets]

    @property
    def new_memories(self) -> int:
        """New bullets, topic tags not counted."""
        return sum(bullets for _block, bullets in self.new_blocks)

    @cached_property
    def page(self) -> Page[list[Part]]:
        """The new blocks of this page, as many as fit with the old memories beside them."""
        return Paginator(self._pages(), 1).get_page(self.number)

    def _pages(self) -> list[list[Part]]:
        beside = Counter(block for source in self.sources for block in {self._block_of.get(one) for one in source.into})
        pages: list[list[Part]] = []
        room = 0
        for part in (part for page in pages_of(self.new_blocks, BULLETS_A_PAGE) for part in page):
            weight = part.stop - part.start + beside[str(part.block)]
            if weight > room:
                pages.append([])
                room = ROWS_A_PAGE
            pages[-1].append(part)
            room -= weight
        return pages

    @cached_property
    def rows(self) -> list[ReviewRow]:
        """The new blocks of this page, each with the old memories that went into it."""
        found = [ReviewRow(card) for card in cards(self.draft, self.view, parts_on(self.page))]
        places: dict[str, tuple[ReviewRow, int]] = {}
        for row in found:
            for number, bullet in enumerate(row.card.bullets, start=row.card.before + 1):
                bullet.number = number
                places[str(bullet.memory.id)] = (row, number)
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
