"""Reads about what was and was not read of chats; person first. Reads for pages stand in memories/page_queries.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone

from accounts.models import User
from memories.lineage import parents_first, shared_prefixes
from memories.models import ExtractedChunk, Watermark
from memories.reading import Mark, end_of_stretch, inherited, replayed, unread
from memories.reading_limits import Limits
from memories.transcript import Entry
from memories.wanted import Ends, Wanted, is_inside
from sync.models import Character, Chat, Message
from sync.tavern.dates import is_exact

REOPENED = "reopened"  # outcome of a chunk that takes its messages back
READ_BY_MODEL = (Message.Role.USER, Message.Role.CHARACTER)
WINDOW = 400  # messages loaded with their text for one chunk at most


@dataclass(frozen=True)
class Reading:
    """A chat as far as reading is concerned, without texts. `fresh` holds positions in `marks` that are unread."""

    chat: Chat
    indices: list[int]
    marks: list[Mark]
    speaks: list[bool]
    fresh: list[int]

    @property
    def waiting(self) -> int:
        """Unread messages that would be shown to the model."""
        return sum(self.speaks[position] for position in self.fresh)

    def fresh_in(self, ends: list[Ends] | None) -> list[int]:
        """Unread positions inside these stretches; None: all."""
        return self.fresh if ends is None else [one for one in self.fresh if is_inside(self.indices[one], ends)]

    def waiting_in(self, ends: list[Ends] | None) -> int:
        """As `waiting`, inside these stretches."""
        return sum(self.speaks[position] for position in self.fresh_in(ends))


@dataclass(frozen=True)
class Waiting:
    """Unread messages of one chat, with the reading if they were counted just now, and the stretches it is limited
    to."""

    chat: Chat
    messages: int
    reading: Reading | None = None
    ends: list[Ends] | None = None

    @property
    def own_messages(self) -> int:
        """Without those that the chat shares with the one it branched from, as far as they were counted just now."""
        if self.reading is None or self.chat.fork_index is None:
            return self.messages
        begin, own = self.chat.fork_index + 1, self.ends or [(0, self.chat.message_count)]
        return self.reading.waiting_in([(max(first, begin), last) for first, last in own])


@dataclass(frozen=True)
class Stretch:
    """A stretch of a chat that is unread without a gap: messages `first` to `last`. `mark` is the watermark before.

    It begins just behind the watermark, unless only a part of the chat was asked for.
    """

    chat: Chat
    mark: Watermark
    first: int
    last: int
    found_at: datetime = field(default_factory=timezone.now)

    @classmethod
    def behind(cls, mark: Watermark, chat: Chat, last: int | None = None) -> Stretch:
        """Everything from the watermark on, to `last` at most."""
        return cls(chat, mark, mark.index + 1, mark.unread_to if last is None else min(last, mark.unread_to))

    @property
    def is_plain(self) -> bool:
        """Whether it begins where the watermark stands."""
        return self.first == self.mark.index + 1


def chats_to_read(
    user: User, character: Character, only: Iterable[UUID | str] | None = None, groups: Iterable[UUID | str] = ()
) -> list[Chat]:
    """Chats in the order of the story: each behind the chat it branched from, else the one that began first.

    They are the character's own chats, all or `only` these; chats of groups must be named, in `only` or in `groups`.
    """
    where = Q(character=character)
    named = [*groups]
    if only is not None:
        named += only
        where = where & Q(pk__in=named) | Q(group__isnull=False, pk__in=named)
    elif named:
        where |= Q(group__isnull=False, pk__in=named)
    rows = Chat.objects.for_user(user).filter(where, gone_at=None)
    oldest = sorted(rows, key=lambda chat: (chat.first_at is None, chat.first_at or chat.created_at, chat.name))
    return parents_first(oldest, lambda chat: chat.pk, lambda chat: chat.parent_id)


def reading_of(user: User, chat: Chat, character: Character) -> Reading:
    """What of `chat` was read for `character`, also by way of branches that share its messages."""
    return readings_of(user, chat, [character])[0]


def readings_of(user: User, chat: Chat, characters: Iterable[Character]) -> list[Reading]:
    """As `reading_of` for several members of a group; the chat is looked at once."""
    fields = ("index", "role", "name", "identity", "content", "raw_date")
    rows = list(Message.objects.for_user(user).filter(chat=chat).order_by("index").values_list(*fields))
    marks = [Mark.of(identity, content, role, date) for _i, role, _n, identity, content, date in rows]
    speaks = [speaks_up(role, name) for _i, role, name, _id, _content, _date in rows]
    indices = [row[0] for row in rows]
    family = family_of(user, chat)
    exact = {place for place, row in enumerate(rows) if is_exact(row[5])} if family else set()
    return [
        Reading(chat, indices, marks, speaks, unread(marks, _read_marks(user, chat, one, marks, family, exact)))
        for one in characters
    ]


def family_of(user: User, chat: Chat) -> dict[UUID, int]:
    """The chats that share their beginning with this one, and the last message number they share."""
    whose = {"group": chat.group_id} if chat.group_id else {"character": chat.character_id}
    forks = Chat.objects.for_user(user).filter(tavern=chat.tavern_id, **whose)
    return dict(shared_prefixes(chat.pk, forks.values_list("pk", "parent_id", "fork_index")))


def _read_marks(
    user: User, chat: Chat, character: Character, messages: list[Mark], family: dict[UUID, int], exact: set[int]
) -> list[Mark]:
    """What relatives have read comes first, so that what is taken back here is unread although it was read there."""
    chunks = ExtractedChunk.objects.for_user(user).filter(character=character, chat__in=[chat.pk, *family])
    rows: dict[UUID, list[tuple[bool, list[Mark]]]] = {}
    for chat_id, outcome, packed in chunks.order_by("pk").values_list("chat_id", "outcome", "marks"):
        rows.setdefault(chat_id, []).append((outcome == REOPENED, [Mark(*one) for one in packed]))
    own = rows.pop(chat.pk, [])
    before = [
        one for other, found in rows.items() for one in inherited(messages, replayed(found), family[other], exact)
    ]
    return replayed(own, before)


def speaks_up(role: str, name: str) -> bool:
    """Whether a message is one that the model would be shown."""
    return role in READ_BY_MODEL or (role == Message.Role.SYSTEM and bool(name))


def first_entries(stretch: Stretch, count: int) -> list[Entry]:
    """The first messages of a stretch with their texts."""
    rows = stretch.chat.messages.filter(index__gte=stretch.first, index__lte=stretch.last)
    fields = ("index", "role", "name", "text", "identity", "content", "raw_date", "is_hidden", "sender_avatar")
    return [Entry(*row) for row in rows.order_by("index").values_list(*fields)[:count]]


def has_changed(user: User, chat: Chat) -> bool:
    """Whether SillyTavern's file brought other messages since `chat` was loaded."""
    return not Chat.objects.for_user(user).filter(pk=chat.pk, version=chat.version).exists()


def rest_of_stretch(character: Character, wanted: Wanted, limits: Limits) -> Stretch | None:
    """What is left of the stretch that was read from last; None when that has to be found out by counting.

    When the last thing that was read for this character ended just at the watermark of its chat, nothing can have
    become read or unread in another way since, and the watermark alone tells.
    """
    newest = character.extracted_chunks.order_by("-pk").values_list("chat_id", "last_index", "outcome").first()
    if newest is None or newest[2] == REOPENED or not wanted.covers(str(newest[0])):
        return None
    where = Q(chat__character=character) | Q(chat__in=wanted.groups) if wanted.groups else Q(chat__character=character)
    chats = {"chat": newest[0], "chat__gone_at": None}
    known = {"index": newest[1], "unread_to__gt": newest[1], "waiting__gt": 0, "counted_version": F("chat__version")}
    mark = next(iter(character.watermarks.filter(where, **chats, **known).select_related("chat")[:1]), None)
    if mark is None:
        return None
    ends = limits.of(mark.chat)
    if ends is None:
        return Stretch.behind(mark, mark.chat)
    last = next((last for first, last in ends if first <= mark.index + 1 <= last), None)
    return None if last is None else Stretch.behind(mark, mark.chat, last)


def lies_before_fork(index: int, chat: Chat) -> bool:
    """Whether a branch is read up to a message only that it shares with its parent."""
    return chat.parent_id is not None and chat.fork_index is not None and index < chat.fork_index


def next_of(reading: Reading, mark: Watermark, ends: list[Ends] | None) -> Stretch | None:
    """The first unread stretch of a chat inside `ends`; None when no message there has something to say."""
    if not reading.waiting_in(ends):
        return None
    if ends is None:
        return Stretch.behind(mark, reading.chat)
    fresh = reading.fresh_in(ends)
    return Stretch(reading.chat, mark, reading.indices[fresh[0]], reading.indices[end_of_stretch(fresh)])


def waiting(
    user: User, character: Character, only: Iterable[UUID | str] | None = None, groups: Iterable[UUID | str] = ()
) -> list[Waiting]:
    """Chats with unread messages in the order of the story; chats of groups must be named (`chats_to_read`)."""
    return list(each_waiting(user, character, only, groups))


def each_waiting(
    user: User,
    character: Character,
    only: Iterable[UUID | str] | None = None,
    groups: Iterable[UUID | str] = (),
    limits: Limits | None = None,
) -> Iterator[Waiting]:
    """As `waiting`, one at a time: whoever needs the first only does not have the others counted.

    Counts of unchanged chats are remembered.
    """
    known = {mark.chat_id: mark for mark in character.watermarks.all()}
    for chat in chats_to_read(user, character, only, groups):
        mark = known.get(chat.pk)
        is_counted = mark is not None and mark.counted_version == chat.version
        if mark is not None and is_counted and not mark.waiting:
            continue
        ends = limits.of(chat) if limits else None
        if mark is not None and is_counted and ends is None and not lies_before_fork(mark.index, chat):
            found = Waiting(chat, mark.waiting)
        else:
            reading = reading_of(user, chat, character)
            found = Waiting(chat, reading.waiting_in(ends), reading, ends)
        if found.messages:
            yield found
