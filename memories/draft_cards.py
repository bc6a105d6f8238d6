"""An edit in progress as cards: what the editing surface shows, in the manager and in every review.

A review page puts `draft`, `view` and a list of these cards into its context and includes
`memories/_draft_card.html` for each. `note` of a card or bullet is one more line below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.draft_view import DraftBlock, DraftMemory, DraftView
from memories.memory_filters import Filters, people_of, topic_parts
from memories.memory_list import Part, pages_of
from memories.models import Draft, MemoryBlock, Proposal
from memories.plain_text import first_words

BULLETS_A_PAGE = 60  # half of what the page for reading has: each bullet brings its controls
ORIGINS = dict(MemoryBlock.Origin.choices)


@dataclass
class DraftBullet:
    """One bullet of a card: its row in the draft, and what a review adds to it."""

    memory: DraftMemory
    note: str = ""
    number: int = 0  # what the old memories beside it point to; 0 is none

    @property
    def is_marked(self) -> bool:
        """Whether a line below the bullet says something about it."""
        row = self.memory
        flags = row.is_locked or row.is_unverified or row.duplicate_of_id or row.is_source_changed
        return bool(flags or row.is_new or row.is_changed or self.number or self.note)

    @property
    def choose_label(self) -> str:
        return _("Choose “%(text)s”") % {"text": first_words(self.memory.text)}

    @property
    def actions_label(self) -> str:
        return _("Actions for “%(text)s”; arrow keys move it") % {"text": first_words(self.memory.text)}


@dataclass
class DraftCard:
    """One block of a draft. `part` says which bullets of a long block stand on this page."""

    block: DraftBlock
    part: Part
    topic: DraftMemory | None = None
    bullets: list[DraftBullet] = field(default_factory=list)
    character: str = ""
    note: str = ""

    @cached_property
    def title(self) -> str:
        """The topic, else the label."""
        return (topic_parts(self.topic.text)[1] if self.topic else "") or self.block.label or _("Without a topic")

    @cached_property
    def people(self) -> str:
        """The others of the topic tag."""
        return ", ".join(people_of(topic_parts(self.topic.text)[0], self.character)) if self.topic else ""

    @property
    def origin_label(self) -> str:
        return str(ORIGINS.get(self.block.origin, self.block.origin))

    @property
    def before(self) -> int:
        """Bullets of this block on earlier pages."""
        return self.part.start

    @property
    def after(self) -> int:
        """Bullets of this block on later pages."""
        return max(0, self.part.total - self.part.stop)


def page_of(view: DraftView, filters: Filters, *, newest: bool = True, number: Any = 1) -> Page[list[Part]]:
    """One page of the draft's blocks; its only element is the list of parts that stand on it."""
    return Paginator(pages_of(view.listing(filters, newest=newest), BULLETS_A_PAGE), 1).get_page(number)


def parts_on(page: Page[list[Part]]) -> list[Part]:
    return page.object_list[0] if page.object_list else []


def cards(draft: Draft, view: DraftView, parts: Iterable[Part], filters: Filters | None = None) -> list[DraftCard]:
    """The cards of these parts, in their order; parts whose block is gone are left out."""
    wanted = list(parts)
    name = draft.file.character.name
    notes = notes_of(draft)
    rows = {str(block.id): block for block in view.blocks([part.block for part in wanted])}
    found = []
    for part in wanted:
        if (block := rows.get(str(part.block))) is not None:
            found.append(_card(view, block, part, filters or Filters(), name, notes))
    return found


def whole(draft: Draft, view: DraftView, ids: Iterable[Any]) -> list[DraftCard]:
    """The cards of these blocks with all their bullets, for pages that choose the blocks themselves."""
    return cards(draft, view, [Part(one) for one in ids])


def _card(
    view: DraftView, block: DraftBlock, part: Part, filters: Filters, name: str, notes: dict[str, str]
) -> DraftCard:
    if part.is_whole or filters.is_any:
        rows = block.memories
        topic = next((row for row in rows if row.is_topic), None)
        shown = [row for row in rows if row is not topic]
        if filters.is_any:
            tag = topic.text if topic else ""
            shown = [row for row in shown if filters.holds(row, block, tag)]
        if not part.is_whole:
            shown = shown[part.start : part.stop]
    else:
        topic, shown = view.topic(block.id), view.bullets(block.id, part.start, part.stop)
    bullets = [DraftBullet(row, notes.get(str(row.id), "")) for row in shown]
    return DraftCard(block, part, topic, bullets, name)


def notes_of(draft: Draft) -> dict[str, str]:
    """What a proposal says about its bullets: out of how many each was made, and which come from nowhere."""
    if draft.kind == Draft.Kind.EDIT:
        return {}
    proposal = Proposal.objects.for_user(draft.owner).filter(draft=draft).only("report").first()
    new = proposal.report.get("new", {}) if proposal else {}
    return {key: note for key, facts in new.items() if (note := _note(facts))}


def _note(facts: dict[str, Any]) -> str:
    if facts.get("is_invented"):
        return _("not in any of the sources")
    count = len(facts.get("from", []))
    return ngettext("from %(n)s memory", "merged from %(n)s", count) % {"n": count} if count > 1 else ""
