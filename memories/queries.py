"""Reads about what was and was not read of chats; person first. Reads for pages stand in memories/page_queries.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from accounts.models import User
from memories.lineage import shared_prefixes
from memories.models import ExtractedChunk, ExtractionSettings, Watermark
from memories.reading import Mark, inherited, unread
from memories.transcript import Entry
from sync.models import Character, Chat, Message

READ_BY_MODEL = (Message.Role.USER, Message.Role.CHARACTER)
WINDOW = 400  # messages loaded with their text for one chunk


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

    @property
    def first_stretch(self) -> list[int]:
        """The positions of the first unread stretch without a gap, at most WINDOW of them."""
        return [position for place, position in enumerate(self.fresh[:WINDOW]) if position == self.fresh[0] + place]


@dataclass(frozen=True)
class Waiting:
    """Unread messages of one chat."""

    chat: Chat
    messages: int


def extraction_settings(user: User) -> ExtractionSettings:
    """What the person chose, or the usual values."""
    return ExtractionSettings.objects.filter(user=user).first() or ExtractionSettings(user=user)


def chats_to_read(user: User, character: Character, only: Iterable[UUID | str] | None = None) -> list[Chat]:
    """The character's own chats, oldest story first. Group chats belong to their groups and are not read here."""
    rows = Chat.objects.for_user(user).filter(character=character, gone_at=None)
    if only is not None:
        rows = rows.filter(pk__in=list(only))
    return sorted(rows, key=lambda chat: (chat.first_at is None, chat.first_at or chat.created_at, chat.name))


def reading_of(user: User, chat: Chat, character: Character) -> Reading:
    """What of `chat` was read for `character`, also by way of branches that share its messages."""
    fields = ("index", "role", "name", "identity", "content", "raw_date")
    rows = list(Message.objects.for_user(user).filter(chat=chat).order_by("index").values_list(*fields))
    marks = [Mark.of(identity, content, role, date) for _i, role, _n, identity, content, date in rows]
    speaks = [
        role in READ_BY_MODEL or (role == Message.Role.SYSTEM and bool(name))
        for _i, role, name, _id, _content, _date in rows
    ]
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


def entries_at(user: User, reading: Reading, positions: list[int]) -> list[Entry]:
    """The messages at these positions with their texts."""
    numbers = [reading.indices[position] for position in positions]
    rows = Message.objects.for_user(user).filter(chat=reading.chat, index__gte=numbers[0], index__lte=numbers[-1])
    fields = ("index", "role", "name", "text", "identity", "content", "raw_date", "is_hidden")
    return [Entry(*row) for row in rows.order_by("index").values_list(*fields)]


def waiting(user: User, character: Character, only: Iterable[UUID | str] | None = None) -> list[Waiting]:
    """Chats of the character with unread messages, oldest story first. Counts of unchanged chats are remembered."""
    marks = Watermark.objects.for_user(user).filter(character=character)
    known = {mark.chat_id: mark for mark in marks}
    found = []
    for chat in chats_to_read(user, character, only):
        mark = known.get(chat.pk)
        is_current = mark is not None and mark.counted_version == chat.version
        count = mark.waiting if mark is not None and is_current else reading_of(user, chat, character).waiting
        if count:
            found.append(Waiting(chat, count))
    return found
