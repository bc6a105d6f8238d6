"""The chat reader: a window of messages with what was read, what is hidden, and which memories came from where.

Everything about reading is said for one reader: the chat's character, or one member of its group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from memories import chat_map
from memories.chat_map import ChatMap
from memories.chat_marks import Read, reads_of
from memories.find_mark import mark_all
from memories.markup import chat_html
from memories.models import ExtractedChunk, Memory, Snapshot
from memories.queries import Reading, family_of, reading_of
from memories.quote_mark import mark_quote
from sync.models import Character, Chat, Message

WINDOW = 100
NOTHING = Read("")


@dataclass
class Line:
    """One message as the reader shows it."""

    message: Message
    is_read: bool
    is_last_read: bool = False
    memories: list[Memory] = field(default_factory=list)
    quote: str | None = None  # a passage to mark; "" marks the message as a whole
    read: Read = NOTHING
    find: str = ""
    is_injected: bool = False
    waiting: int = 0  # unread messages for the model up to this one, itself included
    face: Character | None = None

    @property
    def html(self) -> SafeString:
        safe = chat_html(self.message.text)  # cleaned by an allow-list in markup.py
        safe = mark_quote(safe, self.quote) if self.quote else safe
        return mark_safe(mark_all(safe, self.find) if self.find else safe)  # noqa: S308

    @property
    def is_absent(self) -> bool:
        """The reader took no part when it was said."""
        return self.read.outcome == "absent"

    @property
    def is_by_hand(self) -> bool:
        """Counted as read without asking a model."""
        return self.read.outcome == "skipped"

    @property
    def is_changed(self) -> bool:
        """Edited or swiped after it was read by a model."""
        return self.read.is_edited and self.read.is_by_model


@dataclass
class Window:
    """A stretch of a chat, `first` to `last` inclusive, and the neighbours' numbers (None at an end)."""

    lines: list[Line]
    first: int
    last: int
    total: int
    previous: int | None
    following: int | None


@dataclass(frozen=True)
class Progress:
    """A chat as one reader has read it. `read_to`: all messages up to there are read, -1 for none."""

    chat: Chat
    character: Character | None
    reading: Reading

    @property
    def unread(self) -> list[int]:
        """Numbers of unread messages that a model would be shown."""
        reading = self.reading
        return [reading.indices[one] for one in reading.fresh if reading.speaks[one]]

    @property
    def read_to(self) -> int:
        fresh, indices = self.reading.fresh, self.reading.indices
        if not fresh:
            return indices[-1] if indices else -1
        return indices[fresh[0] - 1] if fresh[0] else -1


def progress_of(user: User, chat: Chat, character: Character | None) -> Progress:
    """What is read; for a chat that nobody remembers nothing is."""
    reading = reading_of(user, chat, character) if character is not None else Reading(chat, [], [], [], [])
    return Progress(chat, character, reading)


def window(user: User, progress: Progress, at: int | None, quotes: Mapping[str, str] | None = None) -> Window:
    """The page of messages that holds number `at`; without a number, where the unread part begins.

    `quotes` names passages to mark, by the identity of their message.
    """
    chat, read_to = progress.chat, progress.read_to
    total = chat.message_count
    start = _start(min(read_to + 1, total - 1) if at is None else at, total)
    rows = list(
        Message.objects.for_user(user).filter(chat=chat, index__gte=start, index__lt=start + WINDOW).order_by("index")
    )
    marked = quotes or {}
    lines = [Line(row, row.index <= read_to, quote=marked.get(row.identity)) for row in rows]
    _mark_reads(user, progress, lines)
    _mark_last_read(lines, read_to)
    _attach_memories(user, progress, lines)
    _mark_injected(user, chat, lines)
    last = rows[-1].index if rows else start
    following = start + WINDOW if start + WINDOW < total else None
    return Window(lines, start, last, total, max(0, start - WINDOW) if start else None, following)


def _start(at: int, total: int) -> int:
    at = max(0, min(at, total - 1))
    return at // WINDOW * WINDOW


def _mark_reads(user: User, progress: Progress, lines: list[Line]) -> None:
    if progress.character is None:
        return
    reading = progress.reading
    fresh = {reading.indices[one] for one in reading.fresh}
    reads = reads_of(user, progress.chat, progress.character, [line.message for line in lines])
    unread = progress.unread
    for line in lines:
        line.is_read = line.message.index not in fresh
        line.read = reads.get(line.message.identity, NOTHING) if line.is_read else NOTHING
        line.waiting = bisect_right(unread, line.message.index)


def _mark_last_read(lines: list[Line], read_to: int) -> None:
    for line in lines:
        line.is_last_read = line.message.index == read_to


def _attach_memories(user: User, progress: Progress, lines: list[Line]) -> None:
    """Also those that a branch has from the chat it left, up to where it left."""
    if not lines:
        return
    chat = progress.chat
    shared: dict[UUID | None, int] = {chat.pk: chat.message_count}
    if chat.parent_id:
        shared.update(family_of(user, chat).items())
    by_identity = {line.message.identity: line for line in lines}
    rows = Memory.objects.for_user(user).filter(block__chat__in=list(shared), is_topic=False)
    if chat.group_id and progress.character is not None:
        rows = rows.filter(block__file__character=progress.character)
    rows = rows.filter(
        block__first_index__lte=lines[-1].message.index, block__last_index__gte=lines[0].message.index
    ).select_related("block")
    for memory in rows:
        for identity in {str(item.get("identity", "")) for item in memory.evidence}:
            line = by_identity.get(identity)
            if line is not None and line.message.index <= shared.get(memory.block.chat_id, -1):
                line.memories.append(memory)


def _mark_injected(user: User, chat: Chat, lines: list[Line]) -> None:
    by_identity = {line.message.identity: line for line in lines}
    rows = Snapshot.objects.for_user(user).filter(chat=chat, identity__in=list(by_identity))
    for identity in rows.values_list("identity", flat=True):
        by_identity[identity].is_injected = True


def map_of(user: User, progress: Progress) -> ChatMap:
    """The whole chat in one picture."""
    chat, total = progress.chat, progress.chat.message_count
    blocks = Memory.objects.for_user(user).filter(block__chat=chat, is_topic=False, block__first_index__isnull=False)
    if chat.group_id and progress.character is not None:
        blocks = blocks.filter(block__file__character=progress.character)
    stretches = blocks.order_by().values_list("block__first_index", "block__last_index").distinct()
    made = {
        number
        for first, last in stretches
        if first is not None
        for number in range(first, min(first if last is None else last, total) + 1)
    }
    hidden = Message.objects.for_user(user).filter(chat=chat, is_hidden=True).values_list("index", flat=True)
    injected = Snapshot.objects.for_user(user).filter(chat=chat).values_list("index", flat=True)
    return ChatMap(
        total,
        chat_map.bar(total, progress.unread, _absent(user, progress)) if progress.character else [],
        chat_map.ticks("hidden", hidden, total),
        chat_map.ticks("memories", made, total),
        chat_map.ticks("injected", injected, total),
    )


def _absent(user: User, progress: Progress) -> set[int]:
    """Numbers of messages at which the reader took no part."""
    if not progress.chat.group_id:
        return set()
    chunks = ExtractedChunk.objects.for_user(user).filter(chat=progress.chat, character=progress.character)
    rows = chunks.filter(outcome="absent").values_list("marks", flat=True)
    identities = {mark[0] for marks in rows for mark in marks}
    reading = progress.reading
    return {number for number, mark in zip(reading.indices, reading.marks, strict=True) if mark.identity in identities}


def hidden_count(user: User, chat: Chat) -> int:
    return Message.objects.for_user(user).filter(chat=chat, is_hidden=True).count()


@dataclass
class ChatRow:
    """A chat in the list of chats, `depth` steps below the chat it branched from."""

    chat: Chat
    depth: int
    unread: int
    memories: int
    hidden: int = 0
    read_at: datetime | None = None
    has_branches: bool = False

    @property
    def read(self) -> int:
        return max(0, self.chat.message_count - self.unread)


def tree(chats: list[Chat], unread: dict[UUID, int], memories: dict[UUID, int]) -> list[ChatRow]:
    """Chats newest first, each followed by its branches; a branch whose parent is not in the list stands by itself."""
    known = {chat.pk for chat in chats}
    below: dict[UUID | None, list[Chat]] = {}
    for chat in chats:
        below.setdefault(chat.parent_id if chat.parent_id in known else None, []).append(chat)
    rows: list[ChatRow] = []
    seen: set[UUID] = set()

    def row(chat: Chat, depth: int) -> ChatRow:
        counts = unread.get(chat.pk, 0), memories.get(chat.pk, 0)
        return ChatRow(chat, depth, *counts, has_branches=chat.pk in below)

    def add(parent: UUID | None, depth: int) -> None:
        for chat in below.get(parent, []):
            if chat.pk in seen:
                continue
            seen.add(chat.pk)
            rows.append(row(chat, depth))
            add(chat.pk, depth + 1)

    add(None, 0)
    rows += [row(chat, 0) for chat in chats if chat.pk not in seen]
    return rows
