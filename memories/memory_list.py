"""The Memories tab: cards newest first, filtered, cut into pages of at most 120 bullets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from memories.memory_filters import (
    Filters,
    is_uuid,
    names_in,
    people_of,
    read_filters,
    topic_parts,
    topic_words,
)
from memories.models import Memory, MemoryBlock, MemoryFile
from memories.outlines import Outline, outlines
from memories.page_queries import memories_of
from memories.review_queries import KINDS, counts
from memories.scopes import share_of
from sync.models import Character, Chat

BULLETS_A_PAGE = 120
__all__ = [
    "BULLETS_A_PAGE",
    "Card",
    "Filters",
    "Part",
    "block_ids",
    "cards",
    "facets",
    "file_of",
    "files_of",
    "is_uuid",
    "pages_of",
    "queues",
    "read_filters",
    "topic_parts",
    "topic_words",
]


@dataclass
class Card:
    """One block as the page shows it: its topic tag as headline, then its bullets."""

    block: MemoryBlock
    topic: str
    people: str = ""
    bullets: list[Memory] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.topic or self.block.label or _("Without a topic")


class Part(NamedTuple):
    """A block on a page: its bullets from `start` to before `stop`, of `total` that pass the filters."""

    block: UUID
    start: int = 0
    stop: int = 0
    total: int = 0

    @property
    def is_whole(self) -> bool:
        return self.stop - self.start == self.total


@dataclass(frozen=True)
class Facet:
    """One filter link with its count."""

    value: str
    label: str
    count: int
    is_current: bool
    url: str = ""  # a page of its own instead of a filter of this one


def block_ids(
    user: User, character: Character, filters: Filters, known: list[Outline] | None = None
) -> list[tuple[UUID, int]]:
    """(block, bullets shown) newest first; `known` are the outlines of the character's files if at hand."""
    blocks = [one for outline in known or outlines(user, character) for one in outline.blocks]
    blocks.sort(key=lambda one: (one.order, one.born, one.id), reverse=True)
    if not filters.is_any:
        return [(one.id, one.bullets) for one in blocks]
    found = filters.apply(memories_of(user, character)).order_by().values_list("block")
    shown: dict[UUID, int] = dict(found.annotate(n=Count("*")))
    return [(one.id, shown[one.id]) for one in blocks if one.id in shown]


def pages_of(blocks: list[tuple[UUID, int]], most: int = BULLETS_A_PAGE) -> list[list[Part]]:
    """Blocks cut so that a page holds at most `most` bullets; a longer block goes on over several pages."""
    pages: list[list[Part]] = [[]]
    room = most
    for pk, bullets in blocks:
        if 0 < bullets <= room:
            pages[-1].append(Part(pk, 0, bullets, bullets))
            room -= bullets
            continue
        for start in range(0, max(bullets, 1), most):
            weight = max(min(bullets - start, most), 1)
            if weight > room and pages[-1]:
                pages.append([])
                room = most
            pages[-1].append(Part(pk, start, min(start + most, bullets), bullets))
            room -= weight
    return pages


def cards(user: User, parts: list[Part] | list[UUID], filters: Filters) -> list[Card]:
    """The cards of one page, in two queries and one more for each block that is too long for a page."""
    shown = [one if isinstance(one, Part) else Part(one) for one in parts]
    ids = [part.block for part in shown]
    rows = MemoryBlock.objects.for_user(user).filter(pk__in=ids).select_related("chat", "file__character")
    by_id = {row.pk: Card(row, "") for row in rows}
    topics = Memory.objects.for_user(user).filter(block__in=ids, is_topic=True)
    for topic in topics.order_by("-order"):
        card = by_id[topic.block_id]
        people, card.topic = topic_parts(topic.text)
        card.people = ", ".join(people_of(people, card.block.file.character.name))
    for memory in _bullets(user, shown, filters):
        memory.block = by_id[memory.block_id].block
        by_id[memory.block_id].bullets.append(memory)
    return [by_id[pk] for pk in ids if pk in by_id]


def _bullets(user: User, parts: list[Part], filters: Filters) -> Iterator[Memory]:
    bullets = filters.apply(Memory.objects.for_user(user).filter(is_topic=False)).order_by("order", "created_at")
    whole = [part.block for part in parts if part.is_whole]
    yield from bullets.filter(block__in=whole)
    for part in parts:
        if not part.is_whole:
            yield from bullets.filter(block=part.block)[part.start : part.stop]


def facets(user: User, character: Character, filters: Filters, found: list[Outline]) -> dict[str, Any]:
    """Counts beside the filter links, and who takes part, from the outlines of the character's files."""
    sources = sum((Counter(one.sources) for one in found), Counter())
    origins, chats = Counter[str](), Counter[UUID]()
    for (origin, chat), n in sources.items():
        origins[origin] += n
        if chat is not None:
            chats[chat] += n
    labels = dict(MemoryBlock.Origin.choices)
    casts = sum((Counter(one.casts) for one in found), Counter())
    return {
        "people": names_in(casts, without=character.name)[:40],
        "all": sources.total(),
        "chats": _chats(user, chats, filters),
        "origins": [Facet(key, str(labels[key]), n, filters.origin == key) for key, n in origins.most_common()],
    }


def _chats(user: User, counts: Counter[UUID], filters: Filters) -> list[Facet]:
    """The chats from which most memories came and that are still there."""
    most = counts.most_common(12)
    names = dict(Chat.objects.for_user(user).filter(pk__in=[pk for pk, _n in most]).values_list("pk", "name"))
    return [Facet(str(pk), names[pk], n, filters.chat == str(pk)) for pk, n in most if pk in names]


def queues(user: User, character: Character) -> list[Facet]:
    """The review queues in which something waits."""
    waiting = counts(user, character)
    labels: dict[str, str] = {
        "unverified": _("Unverified"),
        "held": _("Held back"),
        "duplicates": _("Possible duplicates"),
        "changed": _("Source changed"),
        "superseded": _("Perhaps out of date"),
    }
    found = ((kind, waiting.of(kind), reverse("memories:review", args=[character.pk, kind])) for kind in KINDS)
    return [Facet(kind, labels[kind], count, False, url) for kind, count, url in found if count]


def file_of(user: User, character: Character) -> MemoryFile | None:
    """The file the character remembers in, if there is one already: its own, or the one it shares."""
    share = share_of(character)
    if share is not None:
        return share.file
    rows = MemoryFile.objects.for_user(user).filter(character=character, chat=None)
    return rows.select_related("attachment").first()


def files_of(user: User, character: Character) -> list[MemoryFile]:
    """All memory files of a character, its own first, then those of single chats; one alone is no choice, and neither
    is a shared one."""
    if share_of(character) is not None:
        return []
    rows = MemoryFile.objects.for_user(user).filter(character=character).select_related("chat")
    found = sorted(rows, key=lambda file: (file.chat_id is not None, file.name))
    return found if len(found) > 1 else []
