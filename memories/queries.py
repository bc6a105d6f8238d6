"""Reads about what was and was not read of chats; person first. Reads for pages stand in memories/page_queries.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from accounts.models import User
from memories.lineage import parents_first, shared_prefixes
from memories.models import ExtractedChunk, ExtractionSettings, Watermark
from memories.reading import Mark, inherited, unread
from memories.transcript import Entry
from sync.models import Character, Chat, Message

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


@dataclass(frozen=True)
class Waiting:
    """Unread messages of one chat, with the reading if they were counted just now."""

    chat: Chat
    messages: int
    reading: Reading | None = None


@dataclass(frozen=True)
class Stretch:
    """The first unread stretch of a chat without a gap: all messages behind `mark.index` up to `mark.unread_to`."""

    chat: Chat
    mark: Watermark


def extraction_settings(user: User) -> ExtractionSettings:
    """What the person chose, or the usual values."""
    return ExtractionSettings.objects.filter(user=user).first() or ExtractionSettings(user=user)


def chats_to_read(user: User, character: Character, only: Iterable[UUID | str] | None = None) -> list[Chat]:
    """The character's own chats in the order of the story: each behind the chat it branched from, else the one that
    began first. Group chats belong to their groups and are not read here.
    """
    rows = Chat.objects.for_user(user).filter(character=character, gone_at=None)
    if only is not None:
        rows = rows.filter(pk__in=list(only))
    oldest = sorted(rows, key=lambda chat: (chat.first_at is None, chat.first_at or chat.created_at, chat.name))
    return parents_first(oldest, lambda chat: chat.pk, lambda chat: chat.parent_id)


def reading_of(user: User, chat: Chat, character: Character) -> Reading:
    """What of `chat` was read for `character`, also by way of branches that share its messages."""
    fields = ("index", "role", "name", "identity", "content", "raw_date")
    rows = list(Message.objects.for_user(user).filter(chat=chat).order_by("index").values_list(*fields))
    marks = [Mark.of(identity, content, role, date) for _i, role, _n, identity, content, date in rows]
    speaks = [speaks_up(role, name) for _i, role, name, _id, _content, _date in rows]
    read = _read_marks(user, chat, character, marks)
    return Reading(chat, [row[0] for row in rows], marks, speaks, unread(marks, read))


def _read_marks(user: User, chat: Chat, character: Character, messages: list[Mark]) -> list[Mark]:
    forks = Chat.objects.for_user(user).filter(character=character, tavern=chat.tavern_id)
    family = shared_prefixes(chat.pk, forks.values_list("pk", "parent_id", "fork_index"))
    chunks = ExtractedChunk.objects.for_user(user).filter(character=character, chat__in=[chat.pk, *family])
    own: list[Mark] = []
    of_relatives: dict[UUID, list[Mark]] = {}
    for chat_id, packed in chunks.order_by("pk").values_list("chat_id", "marks"):
        target = own if chat_id == chat.pk else of_relatives.setdefault(chat_id, [])
        target += [Mark(*one) for one in packed]
    for chat_id, read in of_relatives.items():
        own += inherited(messages, read, family[chat_id])
    return own


def speaks_up(role: str, name: str) -> bool:
    """Whether a message is one that the model would be shown."""
    return role in READ_BY_MODEL or (role == Message.Role.SYSTEM and bool(name))


def first_entries(stretch: Stretch, count: int) -> list[Entry]:
    """The first messages of a stretch with their texts."""
    rows = stretch.chat.messages.filter(index__gt=stretch.mark.index, index__lte=stretch.mark.unread_to)
    fields = ("index", "role", "name", "text", "identity", "content", "raw_date", "is_hidden")
    return [Entry(*row) for row in rows.order_by("index").values_list(*fields)[:count]]


def has_changed(user: User, chat: Chat) -> bool:
    """Whether SillyTavern's file brought other messages since `chat` was loaded."""
    return not Chat.objects.for_user(user).filter(pk=chat.pk, version=chat.version).exists()


def rest_of_stretch(character: Character, only: Iterable[UUID | str] | None = None) -> Stretch | None:
    """What is left of the stretch that was read from last; None when that has to be found out by counting.

    When the last thing that was read for this character ended just at the watermark of its chat, nothing can have
    become read or unread in another way since, and the watermark alone tells.
    """
    newest = character.extracted_chunks.order_by("-pk").values_list("chat_id", "last_index").first()
    if newest is None or (only is not None and str(newest[0]) not in map(str, only)):
        return None
    chats = {"chat": newest[0], "chat__character": character, "chat__gone_at": None}
    known = {"index": newest[1], "unread_to__gt": newest[1], "waiting__gt": 0, "counted_version": F("chat__version")}
    mark = next(iter(character.watermarks.filter(**chats, **known).select_related("chat")[:1]), None)
    return None if mark is None else Stretch(mark.chat, mark)


def waiting(user: User, character: Character, only: Iterable[UUID | str] | None = None) -> list[Waiting]:
    """Chats of the character with unread messages, in the order of the story."""
    return list(each_waiting(user, character, only))


def each_waiting(user: User, character: Character, only: Iterable[UUID | str] | None = None) -> Iterator[Waiting]:
    """As `waiting`, one at a time: whoever needs the first only does not have the others counted.

    Counts of unchanged chats are remembered.
    """
    known = {mark.chat_id: mark for mark in character.watermarks.all()}
    for chat in chats_to_read(user, character, only):
        mark = known.get(chat.pk)
        if mark is not None and mark.counted_version == chat.version:
            found = Waiting(chat, mark.waiting)
        else:
            reading = reading_of(user, chat, character)
            found = Waiting(chat, reading.waiting, reading)
        if found.messages:
            yield found
