"""What the check of an import shows: left-over lines first, the source beside the new blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories import conversion_source, drafts, formats
from memories.consolidation_plan import ANSWER_SHARE
from memories.consolidation_prompt import Strategy, room_for
from memories.conversion_words import FORMAT_NAMES, why_left
from memories.draft_cards import BULLETS_A_PAGE, DraftCard, cards, parts_on
from memories.memory_list import Part, pages_of
from memories.models import Draft, MemoryFile, Proposal
from memories.own_prompts import text_in_force
from providers import prices
from providers.models import Connection
from providers.tokens import estimate_tokens
from sync.models import Character

LINES_A_PAGE = 200  # beside at most BULLETS_A_PAGE memories
LEFT_SHOWN, KNOWN_SHOWN = 60, 40
LONGEST_LINE = 600


@dataclass(frozen=True)
class Line:
    """One line of the source. `kind`: is-ok (in a memory), is-head (label or date), is-lost, or ""."""

    number: int
    text: str
    kind: str


@dataclass(frozen=True)
class Left:
    """A left-over line: its place in the report, its number, why, and the page of the source that shows it."""

    place: int
    number: int
    text: str
    why: str
    page: int = 1


@dataclass(frozen=True)
class Target:
    """Where the result may go: a value of the form and its name."""

    value: str
    name: str


class Check:
    """Everything that the page says, read from the proposal's report and its draft."""

    def __init__(self, proposal: Proposal, draft: Draft, *, page: Any = 1, lines: Any = None) -> None:
        self.proposal = proposal
        self.draft = draft
        self.report: dict[str, Any] = proposal.report
        self.view = drafts.view(draft)
        self.number = page
        self.lines_number = lines

    @property
    def is_import(self) -> bool:
        return self.proposal.kind == Proposal.Kind.CONVERSION

    @cached_property
    def left(self) -> list[Left]:
        """Lines about which nothing is decided yet."""
        return [
            Left(place, one["n"], one["text"][:LONGEST_LINE], why_left(one["why"]), self._page_of_line(one["n"]))
            for place, one in enumerate(self.report.get("lines", ()))
            if not one["state"]
        ]

    @property
    def shown_left(self) -> list[Left]:
        return self.left[:LEFT_SHOWN]

    @cached_property
    def known(self) -> list[tuple[int, dict[str, Any]]]:
        """Memories of the source that the file has already."""
        return [(place, one) for place, one in enumerate(self.report.get("known", ())) if not one["state"]]

    @property
    def shown_known(self) -> list[tuple[int, dict[str, Any]]]:
        return self.known[:KNOWN_SHOWN]

    @cached_property
    def new_blocks(self) -> list[tuple[UUID, int]]:
        """The blocks that the draft adds, in file order, with the number of their memories."""
        made = {key for key, change in self.view.overlay.blocks.items() if change.is_made}
        return [(one, count) for one, count in self.view.listing(newest=False) if str(one) in made and count]

    @property
    def memories(self) -> int:
        """New bullets in the draft now."""
        return sum(count for _block, count in self.new_blocks)

    @cached_property
    def page(self) -> Page[list[Part]]:
        return Paginator(pages_of(self.new_blocks, BULLETS_A_PAGE), 1).get_page(self.number)

    @cached_property
    def cards(self) -> list[DraftCard]:
        """The new blocks of this page; below each bullet the lines that it was made of."""
        shown = cards(self.draft, self.view, parts_on(self.page))
        for bullet in (bullet for card in shown for bullet in card.bullets):
            bullet.note = _lines_of(bullet.memory.evidence) if self.is_import else ""
        return shown

    @cached_property
    def source(self) -> list[str]:
        text = conversion_source.text_of(self.proposal)
        return formats.lines_of(text, self.proposal.params.get("format", "freeform")) if text else []

    @cached_property
    def lines_page(self) -> Page[int]:
        first, last = self.report.get("first", 1), self.report.get("last", 0) or len(self.source)
        return Paginator(range(first, last + 1), LINES_A_PAGE).get_page(self.lines_number or self._lines_beside)

    @property
    def _lines_beside(self) -> int:
        """The page of the source where the first shown block comes from."""
        numbers = [
            one["line"] for card in self.cards[:1] for b in card.bullets for one in b.memory.evidence if "line" in one
        ]
        return self._page_of_line(min(numbers, default=1))

    def _page_of_line(self, number: int) -> int:
        return max(0, number - self.report.get("first", 1)) // LINES_A_PAGE + 1

    @cached_property
    def lines(self) -> list[Line]:
        numbers = list(self.lines_page.object_list)
        lost = {one.number for one in self.left}
        ok, heads = (_within(self.report.get(name, ()), numbers) for name in ("ok", "heads"))
        return [Line(n, self.source[n - 1][:LONGEST_LINE], _kind(n, lost, ok, heads)) for n in numbers]

    @property
    def after(self) -> int:
        """Lines below those that are shown."""
        return max(0, self.lines_page.paginator.count - self.lines_page.end_index())

    @property
    def cost(self) -> Decimal | None:
        cost = self.report.get("cost")
        return None if cost is None else Decimal(cost)

    @property
    def format_name(self) -> str:
        return str(FORMAT_NAMES.get(self.report.get("format", ""), ""))

    @property
    def formats(self) -> list[tuple[str, str]]:
        return [(one, str(name)) for one, name in FORMAT_NAMES.items()]


def _kind(number: int, lost: set[int], ok: set[int], heads: set[int]) -> str:
    if number in lost:
        return "is-lost"
    if number in heads:
        return "is-head"
    return "is-ok" if number in ok else ""


def _within(pairs: Sequence[Sequence[int]], numbers: Sequence[int]) -> set[int]:
    if not numbers:
        return set()
    low, high = numbers[0], numbers[-1]
    return {n for a, b in pairs if b >= low and a <= high for n in range(max(a, low), min(b, high) + 1)}


def _lines_of(evidence: Sequence[dict[str, Any]]) -> str:
    numbers = sorted({one["line"] for one in evidence if "line" in one})
    if not numbers:
        return ""
    spans = conversion_source.ranges(numbers)
    text = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans)
    return ngettext("line %(n)s", "lines %(n)s", len(numbers)) % {"n": text}


def targets(user: User, character: Character, present: MemoryFile) -> list[Target]:
    """The files that the result can go into: the character's, those of single chats, or a new Data Bank file."""
    rows = MemoryFile.objects.for_user(user).filter(character=character).select_related("chat").order_by("created_at")
    found = [Target(str(one.pk), one.name) for one in rows]
    found.sort(key=lambda one: one.value != str(present.pk))
    taken = {one.chat_id for one in rows}
    chats = character.chats.filter(gone_at__isnull=True).exclude(pk__in=[pk for pk in taken if pk])
    found += [Target(f"chat:{chat.pk}", _("For the chat %(name)s only") % {"name": chat.name}) for chat in chats[:30]]
    return [*found, Target("new", _("A Data Bank file of its own"))]


def price_of(user: User, proposal: Proposal, connection: Connection | None) -> tuple[int, Decimal | None]:
    """(calls, dollars or None) that reading this part by a model takes."""
    if connection is None:
        return 0, None
    size = partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)
    report = proposal.report
    lines = formats.lines_of(conversion_source.text_of(proposal), proposal.params.get("format", "freeform"))
    tokens = size("\n".join(lines[report.get("first", 1) - 1 : report.get("last") or len(lines)]))
    prompt = text_in_force(user, "conversion", proposal.file.character)
    room = room_for(Strategy("conversion", prompt.version, prompt.text), connection.context_tokens, size)
    calls = max(1, -(-tokens // room.material))
    return calls, prices.price_of(connection).cost(tokens + calls * room.fixed, int(tokens * ANSWER_SHARE))


def latest(user: User, file: MemoryFile, kind: str) -> Proposal | None:
    """An import or a reformat of this file that is at work or waits to be checked."""
    states = (Proposal.State.PLANNED, Proposal.State.RUNNING, Proposal.State.READY)
    return Proposal.objects.for_user(user).filter(file=file, kind=kind, state__in=states).first()
