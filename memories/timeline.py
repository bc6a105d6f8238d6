"""The timeline of a character: its memories by the day of their chat, or by the date that they name in the story.

Read as numbers first (one row a block), so that ten thousand memories cost two queries; only the memories of the shown
page are loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import groupby, pairwise
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import CharField, Count, OuterRef, Q, Subquery
from django.db.models.functions import Cast

from accounts.models import User
from memories.local_time import local_now
from memories.memory_list import Part, pages_of
from memories.models import Memory, MemoryBlock, Watermark
from memories.outlines import outlines
from memories.queries import READ_BY_MODEL
from memories.story_dates import StoryDate, find_date
from memories.timeline_chart import Bar, Scale, Stretch, even_bars, silences
from sync.models import Character, Chat, Message

MOST_LANES = 12
MOST_SILENCES = 6


@dataclass(frozen=True)
class Point:
    """One block in time: its day (None when nothing tells), its chat and how many memories it holds."""

    block: UUID
    day: date | None
    chat: UUID | None
    count: int


@dataclass(frozen=True)
class Silence:
    """A stretch without memories in which there was chatting: messages in all, and those never read, by chat."""

    first: date
    last: date
    messages: int
    unread: int
    chat: Chat | None

    @property
    def weeks(self) -> int:
        return max(1, round(((self.last - self.first).days + 1) / 7))


@dataclass(frozen=True)
class Lane:
    """One chat: when it was played, and when memories came from it."""

    chat: Chat
    played: Stretch
    remembered: list[Bar]
    count: int


@dataclass
class Group:
    """What happened on one day (or at one date of the story), newest first."""

    day: date | StoryDate | None
    count: int
    memories: list[Memory] = field(default_factory=list)
    silence: Silence | None = None  # between this day and the one above it
    days_between: int = 0


class ByChat:
    """Everything ordered by the day on which it was played. `chat` narrows to one chat."""

    def __init__(self, user: User, character: Character, chat: Chat | None = None) -> None:
        self.user, self.character, self.chat = user, character, chat
        self.points = _points(user, character, chat)
        self.counts: Counter[date] = Counter()
        for point in self.points:
            if point.day is not None:
                self.counts[point.day] += point.count

    @cached_property
    def total(self) -> int:
        return sum(point.count for point in self.points)

    @property
    def undated(self) -> int:
        return self.total - self.counts.total()

    @property
    def first(self) -> date | None:
        return min(self.counts, default=None)

    @property
    def last(self) -> date | None:
        return max(self.counts, default=None)

    @cached_property
    def chats(self) -> list[Chat]:
        rows = Chat.objects.for_user(self.user).filter(Q(character=self.character) | Q(pk__in=self._sources))
        return sorted(rows, key=lambda chat: (chat.first_at is None, chat.first_at or chat.created_at))

    @property
    def _sources(self) -> set[UUID]:
        return {point.chat for point in self.points if point.chat}

    @cached_property
    def scale(self) -> Scale | None:
        ends = (end for chat in self.chats for end in (chat.first_at, chat.last_at) if end is not None)
        return Scale.over([*self.counts, *(_day(self.user, end) for end in ends)])

    @cached_property
    def silences(self) -> list[Silence]:
        """The longest ones with messages in them, oldest first."""
        found = sorted(silences(self.counts), key=lambda one: one[0] - one[1])[:MOST_SILENCES]
        told = (_silence(self.user, self.character, self.chats, *one) for one in found)
        return sorted((one for one in told if one is not None), key=lambda one: one.first)

    def lanes(self, scale: Scale) -> list[Lane]:
        """The chats, those with most memories first, at most a dozen; in the order in which they began."""
        counts: Counter[UUID] = Counter()
        days: dict[UUID, Counter[date]] = {}
        for point in self.points:
            if point.chat is not None and point.day is not None:
                counts[point.chat] += point.count
                days.setdefault(point.chat, Counter())[point.day] += point.count
        most = sorted(self.chats, key=lambda chat: -counts[chat.pk])[:MOST_LANES]
        shown = [chat for chat in self.chats if chat in most and (chat.first_at or counts[chat.pk])]
        return [self._lane(scale, chat, days.get(chat.pk, Counter()), counts[chat.pk]) for chat in shown]

    def _lane(self, scale: Scale, chat: Chat, days: Counter[date], count: int) -> Lane:
        first = _day(self.user, chat.first_at) if chat.first_at else min(days)
        last = _day(self.user, chat.last_at) if chat.last_at else max(days)
        return Lane(chat, scale.stretch(first, last), scale.bars(days, ()), count)

    def page(self, number: str | int | None) -> Page[list[Part]]:
        return Paginator(pages_of([(point.block, point.count) for point in self.points]), 1).get_page(number)

    def page_with(self, day: date) -> int:
        """The page on which the memories of the week from `day` on begin."""
        end = day + timedelta(days=6)
        days = {point.block: point.day for point in self.points}
        for number, parts in enumerate(pages_of([(point.block, point.count) for point in self.points]), 1):
            if any((here := days[part.block]) is not None and here <= end for part in parts if part.total):
                return number
        return 1

    def groups(self, parts: Iterable[Part]) -> list[Group]:
        """The memories of these parts by day, with the silences between the days."""
        days = {point.block: point.day for point in self.points}
        texts = _memories(self.user, parts := list(parts))
        found: list[Group] = []
        for day, some in groupby(parts, key=lambda part: days[part.block]):
            memories = [memory for part in some for memory in texts.get(part.block, [])[part.start : part.stop]]
            found.append(Group(day, self.counts[day] if day else self.undated, memories))
        for above, below in pairwise(found):
            if isinstance(above.day, date) and isinstance(below.day, date):
                below.days_between = (above.day - below.day).days - 1
                below.silence = next((one for one in self.silences if below.day < one.first <= above.day), None)
        return found


class ByStory:
    """Everything ordered by the date that memories name themselves; a topic tag dates the memories below it."""

    def __init__(self, user: User, character: Character) -> None:
        self.user = user
        rows = Memory.objects.for_user(user).filter(block__file__character=character)
        order = rows.order_by("block__order", "block__created_at", "block", "order", "created_at")
        self.total = 0
        dated: list[tuple[StoryDate, int, UUID]] = []
        of_block: tuple[str, StoryDate | None] = ("", None)
        # Ids as the database has them: few of the memories name a date, and only theirs are needed.
        plain = order.annotate(key=Cast("pk", CharField()), in_block=Cast("block", CharField()))
        for pk, block, text, is_topic in plain.values_list("key", "in_block", "text", "is_topic").iterator(2_000):
            named = find_date(text)
            if is_topic:
                of_block = (block, named)
                continue
            self.total += 1
            when = named or (of_block[1] if of_block[0] == block else None)
            if when is not None:
                dated.append((when, self.total, UUID(pk)))
        self.dated = sorted(dated)
        self.counts = Counter(when for when, _n, _pk in self.dated)

    @property
    def undated(self) -> int:
        return self.total - len(self.dated)

    def page(self, number: str | int | None) -> Page[tuple[StoryDate, int, UUID]]:
        return Paginator(self.dated, 120).get_page(number)

    @property
    def marks(self) -> list[StoryDate]:
        """The dates to write below the bars: all while there is room, else none, because the list has them."""
        return sorted(self.counts) if len(self.counts) <= 8 else []

    def bars(self, shown: Iterable[Group]) -> list[Bar]:
        """One bar a date; beyond 104 dates, neighbours are taken together."""
        dates = sorted(self.counts)
        step = -(-len(dates) // 104) or 1
        places = {when: n // step for n, when in enumerate(dates)}
        sums: Counter[int] = Counter()
        for when, count in self.counts.items():
            sums[places[when]] += count
        here = {places[group.day] for group in shown if isinstance(group.day, StoryDate)}
        return even_bars([sums[n] for n in range(len(sums))], here)

    def groups(self, rows: Iterable[tuple[StoryDate, int, UUID]]) -> list[Group]:
        rows = list(rows)
        found = Memory.objects.for_user(self.user).filter(pk__in=[pk for _w, _n, pk in rows])
        texts = {memory.pk: memory for memory in found.select_related("block__chat")}
        return [
            Group(when, self.counts[when], [texts[pk] for _w, _n, pk in some if pk in texts])
            for when, some in groupby(rows, key=lambda row: row[0])
        ]


def _points(user: User, character: Character, chat: Chat | None) -> list[Point]:
    """Newest first; blocks without a day come last."""
    rows = MemoryBlock.objects.for_user(user).filter(file__character=character)
    if chat is not None:
        rows = rows.filter(chat=chat)
    counts = {one.id: one.bullets for outline in outlines(user, character) for one in outline.blocks}
    sent = Message.objects.filter(chat=OuterRef("chat"), index=OuterRef("last_index")).values("sent_at")[:1]
    found = [
        (_block_day(user, sent_at, text, made), order, made, Point(pk, None, of_chat, counts[pk]))
        for pk, of_chat, text, order, made, sent_at in rows.annotate(sent=Subquery(sent)).values_list(
            "pk", "chat", "date", "order", "created_at", "sent"
        )
        if counts.get(pk)
    ]
    found.sort(key=lambda one: (one[0] or date.min, one[1], one[2]), reverse=True)
    return [Point(point.block, day, point.chat, point.count) for day, _order, _made, point in found]


def _block_day(user: User, sent_at: datetime | None, text: str, made: datetime) -> date | None:
    """The day of the newest message that it came from, else the date that stands in the file."""
    if sent_at is not None:
        return _day(user, sent_at)
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None if text else _day(user, made)


def _day(user: User, moment: datetime) -> date:
    return local_now(user, moment).date()


def _midnight(user: User, day: date) -> datetime:
    """When the day begins on the person's clock."""
    zone = local_now(user, datetime.combine(day, time(12), UTC)).tzinfo
    return datetime.combine(day, time.min, zone)


def _memories(user: User, parts: list[Part]) -> dict[UUID, list[Memory]]:
    """The memories of the blocks of these parts, in order."""
    found: dict[UUID, list[Memory]] = {}
    rows = Memory.objects.for_user(user).filter(block__in=[part.block for part in parts], is_topic=False)
    for memory in rows.select_related("block__chat").order_by("order", "created_at"):
        found.setdefault(memory.block_id, []).append(memory)
    return found


def _silence(user: User, character: Character, chats: list[Chat], first: date, last: date) -> Silence | None:
    """What was chatted in a stretch without memories; None when nothing was."""
    near = [chat for chat in chats if _touches(chat, first, last)]
    read_to = Watermark.objects.for_user(user).filter(character=character, chat__in=near)
    marks = dict(read_to.values_list("chat", "index"))
    between = {"sent_at__gte": _midnight(user, first), "sent_at__lt": _midnight(user, last + timedelta(days=1))}
    whole = unread = 0
    chosen: Chat | None = None
    for chat in near:
        rows = Message.objects.for_user(user).filter(chat=chat, role__in=READ_BY_MODEL, **between)
        facts = rows.order_by().aggregate(n=Count("pk"), new=Count("pk", filter=Q(index__gt=marks.get(chat.pk, -1))))
        whole, unread = whole + facts["n"], unread + facts["new"]
        if facts["n"] and (chosen is None or facts["new"]):
            chosen = chat
    return Silence(first, last, whole, unread, chosen) if whole else None


def _touches(chat: Chat, first: date, last: date) -> bool:
    if chat.first_at is None or chat.last_at is None or chat.gone_at is not None:
        return False
    return chat.first_at.date() <= last and chat.last_at.date() >= first
