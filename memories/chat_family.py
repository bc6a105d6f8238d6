"""The family of a chat: all chats that branched from each other, with where they part and how far each is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count, Q

from accounts.models import User
from memories.chat_readers import readers_of
from memories.models import MemoryBlock, Watermark
from sync.models import Character, Chat

MOST = 200  # chats that one map shows


@dataclass
class Kin:
    """One chat of the family, `depth` branches below the first. Numbers are those of messages.

    `passing` are the places of lines that lead past this row to branches further below, `leaves` those that begin here.
    """

    chat: Chat
    depth: int
    memories: int
    inherited: int  # messages shared with the chat it left
    inherited_memories: int
    unread: int | None
    read_to: int
    passing: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    @property
    def own(self) -> int:
        """Messages that only this chat has."""
        return max(0, self.chat.message_count - self.inherited)

    @property
    def read_own(self) -> int:
        """How many of its own messages are read without a gap."""
        return max(0, min(self.read_to + 1, self.chat.message_count) - self.inherited)


@dataclass
class Family:
    """The chats as rows, each below the chat it left; `width` is the longest in messages."""

    rows: list[Kin]
    width: int
    character: Character | None

    @property
    def branches(self) -> int:
        return len(self.rows) - 1


def family_map(user: User, chat: Chat, whose: str = "") -> Family:
    """Everybody who shares messages with `chat`, as the chosen reader has read them."""
    reader = readers_of(user, chat, whose).chosen
    character = reader.character if reader else None
    chats = _relatives(user, chat)
    marks = Watermark.objects.for_user(user).filter(chat__in=[one.pk for one in chats], character=character)
    by_chat = {mark.chat_id: mark for mark in marks}
    made = _memories(user, chats, character)
    rows = [_kin(one, depth, chats, by_chat, made) for one, depth in _ordered(chats)]
    _draw_lines(rows)
    return Family(rows, max((one.chat.message_count for one in rows), default=1) or 1, character)


def _relatives(user: User, chat: Chat) -> list[Chat]:
    whose = {"group": chat.group_id} if chat.group_id else {"character": chat.character_id}
    rows = Chat.objects.for_user(user).filter(tavern=chat.tavern_id, **whose)
    links: dict[UUID | None, UUID | None] = dict(rows.values_list("pk", "parent_id"))
    below: dict[UUID | None, list[UUID | None]] = defaultdict(list)
    for pk, parent in links.items():
        if parent in links:
            below[parent].append(pk)
    top: UUID | None = chat.pk
    seen = {top}
    while (parent := links.get(top)) in links and parent not in seen:
        top = parent
        seen.add(top)
    found, ways = {top}, [top]
    while ways:
        new = [one for one in below[ways.pop()] if one not in found]
        found.update(new)
        ways += new
    return list(rows.filter(pk__in=[one for one in found if one][:MOST]).order_by("fork_index", "first_at", "name"))


def _ordered(chats: list[Chat]) -> list[tuple[Chat, int]]:
    """Depth first, the chat itself before what branched from it."""
    known = {chat.pk for chat in chats}
    below: dict[UUID | None, list[Chat]] = defaultdict(list)
    for chat in chats:
        below[chat.parent_id if chat.parent_id in known else None].append(chat)
    ways = [(chat, 0) for chat in reversed(below[None] or chats[:1])]
    found: list[tuple[Chat, int]] = []
    while ways:
        chat, depth = ways.pop()
        found.append((chat, depth))
        ways += [(one, depth + 1) for one in reversed(below[chat.pk])]
    return found


def _memories(user: User, chats: list[Chat], character: Character | None) -> dict[UUID, list[int]]:
    """{chat: number of the last message of each memory's stretch}."""
    rows = MemoryBlock.objects.for_user(user).filter(chat__in=[one.pk for one in chats], file__character=character)
    counted = (
        rows.order_by().values_list("chat", "last_index").annotate(n=Count("memories", Q(memories__is_topic=False)))
    )
    found: dict[UUID, list[int]] = defaultdict(list)
    for chat, last, count in counted:
        found[chat] += [last if last is not None else -1] * count
    return found


def _kin(chat: Chat, depth: int, chats: list[Chat], marks: dict[UUID, Watermark], made: dict[UUID, list[int]]) -> Kin:
    parent = next((one for one in chats if one.pk == chat.parent_id), None) if depth else None
    fork = chat.fork_index if parent is not None and chat.fork_index is not None else -1
    mark = marks.get(chat.pk)
    counted = mark is not None and mark.counted_version == chat.version
    before = _above(chat, {one.pk: one for one in chats}, made) if depth else 0
    unread = mark.waiting if mark is not None and counted else None
    read_to = mark.index if mark is not None else -1
    return Kin(chat, depth, len(made.get(chat.pk, ())), fork + 1, before, unread, read_to)


def _above(chat: Chat, known: dict[UUID | None, Chat], made: dict[UUID, list[int]]) -> int:
    """Memories of the chats above, each up to where the way down to `chat` leaves it."""
    count, end, seen = 0, chat.message_count, {chat.pk}
    while (parent := known.get(chat.parent_id)) is not None and parent.pk not in seen:
        end = min(end, -1 if chat.fork_index is None else chat.fork_index)
        count += sum(last <= end for last in made.get(parent.pk, ()))
        chat = parent
        seen.add(chat.pk)
    return count


def _draw_lines(rows: list[Kin]) -> None:
    """A line from each chat down to every branch that leaves it, past the rows between."""
    places: dict[UUID | None, int] = {row.chat.pk: place for place, row in enumerate(rows)}
    for place, row in enumerate(rows):
        above = places.get(row.chat.parent_id) if row.depth else None
        if above is None:
            continue
        rows[above].leaves.append(row.inherited)
        for between in rows[above + 1 : place]:
            between.passing.append(row.inherited)
