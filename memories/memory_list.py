"""The Memories tab: cards newest first, filtered, cut into pages of at most 120 bullets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from accounts.models import User
from memories.models import Memory, MemoryBlock, MemoryFile
from memories.page_queries import memories_of
from sync.models import Character

BULLETS_A_PAGE = 120
_DASH = re.compile(r"\s([—–-])\s")
FLAGS: dict[str, Q] = {
    "unverified": Q(is_unverified=True),
    "duplicates": Q(duplicate_of__isnull=False),
    "changed": Q(is_source_changed=True),
}


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


@dataclass(frozen=True)
class Facet:
    """One filter link with its count."""

    value: str
    label: str
    count: int
    is_current: bool


@dataclass(frozen=True)
class Filters:
    """What the address asks for; unknown values are ignored."""

    text: str = ""
    flag: str = ""
    chat: str = ""
    origin: str = ""

    @property
    def is_any(self) -> bool:
        return any((self.text, self.flag, self.chat, self.origin))

    def apply(self, rows: QuerySet[Memory]) -> QuerySet[Memory]:
        if self.text:
            rows = rows.filter(Q(text__icontains=self.text) | Q(block__label__icontains=self.text))
        if self.flag:
            rows = rows.filter(FLAGS[self.flag])
        if self.chat:
            rows = rows.filter(block__chat=UUID(self.chat))
        return rows.filter(block__origin=self.origin) if self.origin else rows


def read_filters(query: QueryDict) -> Filters:
    """Filters from the address."""
    flag, origin = query.get("flag", ""), query.get("origin", "")
    return Filters(
        query.get("q", "").strip()[:200],
        flag if flag in FLAGS else "",
        query.get("chat", "") if is_uuid(query.get("chat", "")) else "",
        origin if origin in MemoryBlock.Origin.values else "",
    )


def is_uuid(text: str) -> bool:
    """Whether a value from an address can be the id of a row."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def topic_parts(text: str) -> tuple[str, str]:
    """(who, what) of a topic tag: "[Wren, Seraphine — The lantern oath]" → ("Wren, Seraphine", "The lantern oath")."""
    words = text.strip().removeprefix("[").removesuffix("]")
    who, _dash, what = _DASH.split(words, maxsplit=1) if _DASH.search(words) else ("", "", words)
    return who.strip(), what.strip()


def topic_words(text: str) -> str:
    """What a topic tag is about, without its people."""
    return topic_parts(text)[1]


def block_ids(user: User, character: Character, filters: Filters) -> list[tuple[UUID, int]]:
    """(block, bullets shown) newest first."""
    found = filters.apply(memories_of(user, character)).order_by().values("block").annotate(n=Count("pk"))
    shown = {row["block"]: row["n"] for row in found}
    rows = MemoryBlock.objects.for_user(user).filter(file__character=character)
    order = rows.order_by("-order", "-created_at").values_list("pk", flat=True)
    return [(pk, shown.get(pk, 0)) for pk in order if pk in shown or not filters.is_any]


def pages_of(blocks: list[tuple[UUID, int]]) -> list[list[UUID]]:
    """Blocks cut so that a page holds at most `BULLETS_A_PAGE` bullets, or one block that is longer than that."""
    pages: list[list[UUID]] = [[]]
    room = BULLETS_A_PAGE
    for pk, bullets in blocks:
        weight = max(bullets, 1)
        if weight > room and pages[-1]:
            pages.append([])
            room = BULLETS_A_PAGE
        pages[-1].append(pk)
        room -= weight
    return pages


def cards(user: User, ids: list[UUID], filters: Filters) -> list[Card]:
    """The cards of one page, in two queries."""
    rows = MemoryBlock.objects.for_user(user).filter(pk__in=ids).select_related("chat", "file__character")
    by_id = {row.pk: Card(row, "") for row in rows}
    shown = filters.apply(Memory.objects.for_user(user).filter(block__in=ids, is_topic=False))
    topics = Memory.objects.for_user(user).filter(block__in=ids, is_topic=True)
    for topic in topics.order_by("-order"):
        card = by_id[topic.block_id]
        people, card.topic = topic_parts(topic.text)
        card.people = _others(people, card.block.file.character.name)
    for memory in shown.order_by("order", "created_at")[: BULLETS_A_PAGE * 3]:
        memory.block = by_id[memory.block_id].block
        by_id[memory.block_id].bullets.append(memory)
    return [by_id[pk] for pk in ids if pk in by_id]


def _others(people: str, name: str) -> str:
    """The people of a topic tag without the character whose card it is; words that are no names are left out."""
    parts = [part.strip() for part in people.removeprefix(name).split(",")]
    return ", ".join(part for part in parts if part[:1].isalnum() and not part[0].islower() and part != name)


def facets(user: User, character: Character, filters: Filters) -> dict[str, Any]:
    """Counts beside the filter links."""
    rows = memories_of(user, character).order_by()
    flags = rows.aggregate(all=Count("pk"), **{name: Count("pk", filter=test) for name, test in FLAGS.items()})
    labels = {"unverified": _("Unverified"), "duplicates": _("Possible duplicates"), "changed": _("Source changed")}
    chats = rows.filter(block__chat__isnull=False).values("block__chat", "block__chat__name").annotate(n=Count("pk"))
    origins = rows.values("block__origin").annotate(n=Count("pk")).order_by("-n")
    names = dict(MemoryBlock.Origin.choices)
    return {
        "all": flags["all"],
        "flags": [Facet(key, labels[key], flags[key], filters.flag == key) for key in FLAGS if flags[key]],
        "chats": [
            Facet(str(row["block__chat"]), row["block__chat__name"], row["n"], filters.chat == str(row["block__chat"]))
            for row in chats.order_by("-n")[:12]
        ],
        "origins": [
            Facet(
                row["block__origin"], str(names[row["block__origin"]]), row["n"], filters.origin == row["block__origin"]
            )
            for row in origins
        ],
    }


def file_of(user: User, character: Character) -> MemoryFile | None:
    """The character's own memory file, if there is one already."""
    rows = MemoryFile.objects.for_user(user).filter(character=character, chat=None)
    return rows.select_related("attachment").first()
