"""Finding one's way in a chat: words, days, and what is not read yet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from accounts.models import User
from memories.find_mark import folded
from sync.models import Chat, Message

LONGEST = 200  # letters of a search inside a chat


@dataclass(frozen=True)
class Found:
    """What a search inside a chat found: numbers of messages in order, and the one that is looked at."""

    text: str = ""
    hits: list[int] = field(default_factory=list)
    at: int | None = None

    @property
    def place(self) -> int:
        """The hit that is looked at, counted from 1; 0 without any."""
        return self.hits.index(self.at) + 1 if self.at in self.hits else 0

    @property
    def previous(self) -> int | None:
        return _before(self.hits, self.at)

    @property
    def following(self) -> int | None:
        return _behind(self.hits, self.at)


def find(user: User, chat: Chat, text: str, at: int | None) -> Found:
    """Messages that hold `text` somewhere, whatever its case; `at` or the first hit behind it is looked at."""
    wanted = " ".join(text.split())[:LONGEST]
    if not wanted:
        return Found()
    needle = folded(wanted)
    rows = Message.objects.for_user(user).filter(chat=chat).order_by("index").values_list("index", "text")
    hits = [index for index, said in rows.iterator(chunk_size=2000) if needle in folded(said)]
    if not hits:
        return Found(wanted)
    place = bisect_left(hits, at or 0)
    return Found(wanted, hits, hits[place] if place < len(hits) else hits[-1])


def first_on(user: User, chat: Chat, day: date) -> int | None:
    """The first message on `day` of the person's own calendar or later; None when the chat ends before."""
    try:
        zone = ZoneInfo(user.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    begin = datetime.combine(day, time.min, zone)
    rows = Message.objects.for_user(user).filter(chat=chat, sent_at__gte=begin).order_by("index")
    return rows.values_list("index", flat=True).first()


def around(numbers: Sequence[int], first: int, last: int) -> tuple[int | None, int | None]:
    """Of `numbers`: the last before `first`, and the first behind `last`."""
    return _before(numbers, first), _behind(numbers, last)


def _before(numbers: Sequence[int], at: int | None) -> int | None:
    place = bisect_left(numbers, at) if at is not None else 0
    return numbers[place - 1] if place else None


def _behind(numbers: Sequence[int], at: int | None) -> int | None:
    place = bisect_right(numbers, at) if at is not None else 0
    return numbers[place] if place < len(numbers) else None
