"""Which memories a list shows: words, flag, chat, origin, who takes part, when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Right
from django.http import QueryDict

from memories.models import Memory, MemoryBlock

FLAGS: dict[str, Q] = {
    "unverified": Q(is_unverified=True),
    "duplicates": Q(duplicate_of__isnull=False),
    "changed": Q(is_source_changed=True),
    "locked": Q(is_locked=True) | Q(block__is_locked=True),
}
_DASH = re.compile(r"\s([—–-])\s")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = 16  # letters of "2026-03-01 18:00", with which the date of a block ends, be it a moment or a span


@dataclass(frozen=True)
class Filters:
    """What the address asks for; unknown values are ignored.

    `file` is one of the character's memory files. `participant` is a name as topic tags write it; `since` and `until`
    are days of the story, "YYYY-MM-DD", both included. A block that spans several days is shown when one is meant.
    """

    text: str = ""
    file: str = ""
    flag: str = ""
    chat: str = ""
    origin: str = ""
    participant: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_any(self) -> bool:
        return any(vars(self).values())

    @property
    def folded(self) -> int:
        """How many are set besides the words."""
        return sum(1 for name, value in vars(self).items() if value and name not in ("text", "file"))

    def apply(self, rows: QuerySet[Memory]) -> QuerySet[Memory]:
        """Only the rows that pass."""
        if self.text:
            rows = rows.filter(Q(text__icontains=self.text) | Q(block__label__icontains=self.text))
        if self.file:
            rows = rows.filter(block__file=UUID(self.file))
        if self.flag:
            rows = rows.filter(FLAGS[self.flag])
        if self.chat:
            rows = rows.filter(block__chat=UUID(self.chat))
        if self.participant:
            tags = rows.model._base_manager.filter(block=OuterRef("block"), is_topic=True)
            rows = rows.filter(Exists(tags.filter(text__icontains=self.participant)))
        if self.since:
            rows = rows.annotate(ends=Right("block__date", MOMENT)).filter(ends__gte=self.since)
        if self.until:
            rows = rows.exclude(block__date="").filter(block__date__lt=f"{self.until} 24")
        return rows.filter(block__origin=self.origin) if self.origin else rows

    def holds(self, memory: Any, block: Any, tag: str) -> bool:
        """The same for one row in hand, stored or not; `tag` is the topic tag of its block, or ""."""
        words = self.text.casefold()
        return (
            (not words or words in memory.text.casefold() or words in block.label.casefold())
            and (not self.flag or _has_flag(memory, block, self.flag))
            and (not self.chat or str(block.chat_id) == self.chat)
            and (not self.origin or block.origin == self.origin)
            and (not self.participant or self.participant.casefold() in tag.casefold())
            and (not self.since or block.date[-MOMENT:] >= self.since)
            and (not self.until or (bool(block.date) and block.date < f"{self.until} 24"))
        )


def _has_flag(memory: Any, block: Any, flag: str) -> bool:
    if flag == "locked":
        return bool(memory.is_locked or block.is_locked)
    if flag == "duplicates":
        return memory.duplicate_of_id is not None
    return bool(memory.is_unverified if flag == "unverified" else memory.is_source_changed)


def read_filters(query: QueryDict) -> Filters:
    """Filters from the address."""
    flag, origin = query.get("flag", ""), query.get("origin", "")
    return Filters(
        text=query.get("q", "").strip()[:200],
        file=query.get("file", "") if is_uuid(query.get("file", "")) else "",
        flag=flag if flag in FLAGS else "",
        chat=query.get("chat", "") if is_uuid(query.get("chat", "")) else "",
        origin=origin if origin in MemoryBlock.Origin.values else "",
        participant=query.get("participant", "").strip()[:100],
        since=_day(query.get("since", "")),
        until=_day(query.get("until", "")),
    )


def is_uuid(text: str) -> bool:
    """Whether a value from an address can be the id of a row."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _day(text: str) -> str:
    return text if _DAY.fullmatch(text) else ""


def topic_parts(text: str) -> tuple[str, str]:
    """(who, what) of a topic tag: "[Wren, Seraphine — The lantern oath]" → ("Wren, Seraphine", "The lantern oath")."""
    words = text.strip().removeprefix("[").removesuffix("]")
    who, _dash, what = _DASH.split(words, maxsplit=1) if _DASH.search(words) else ("", "", words)
    return who.strip(), what.strip()


def topic_words(text: str) -> str:
    """What a topic tag is about, without its people."""
    return topic_parts(text)[1]


def names_in(casts: Mapping[str, int], *, without: str = "") -> list[str]:
    """Who takes part according to the first halves of topic tags (and how often each occurs), the most frequent first;
    words that are no names are left out."""
    found: dict[str, int] = {}
    for who, count in casts.items():
        for name in people_of(who, without):
            found[name] = found.get(name, 0) + count
    return sorted(found, key=lambda name: (-found[name], name))


def people_of(who: str, without: str = "") -> list[str]:
    """The names in the first half of a topic tag, without the one whose card it is."""
    parts = [part.strip() for part in who.removeprefix(without).split(",")]
    return [part for part in parts if part[:1].isalnum() and not part[0].islower() and part != without]
