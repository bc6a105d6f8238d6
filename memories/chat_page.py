"""The chat reader: a window of messages with what was read, what is hidden, and which memories came from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from memories.markup import chat_html
from memories.models import Memory, Watermark
from memories.quote_mark import mark_quote
from sync.models import Chat, Message

WINDOW = 100


@dataclass
class Line:
    """One message as the reader shows it."""

    message: Message
    is_read: bool
    is_last_read: bool = False
    memories: list[Memory] = field(default_factory=list)
    quote: str | None = None  # a passage to mark; "" marks the message as a whole

    @property
    def html(self) -> SafeString:
        safe = chat_html(self.message.text)  # cleaned by an allow-list in markup.py
        return mark_safe(mark_quote(safe, self.quote) if self.quote else safe)  # noqa: S308


@dataclass
class Window:
    """A stretch of a chat, `first` to `last` inclusive, and the neighbours' numbers (None at an end)."""

    lines: list[Line]
    first: int
    last: int
    total: int
    previous: int | None
    following: int | None


def watermark_of(user: User, chat: Chat) -> Watermark | None:
    """How far the chat was read for its character."""
    rows = Watermark.objects.for_user(user).filter(chat=chat, character=chat.character)
    return rows.first() if chat.character_id else None


def window(user: User, chat: Chat, at: int | None, read_to: int, quotes: Mapping[str, str] | None = None) -> Window:
    """The page of messages that holds number `at`; without a number, where the unread part begins.

    `quotes` names passages to mark, by the identity of their message.
    """
    total = chat.message_count
    start = _start(min(read_to + 1, total - 1) if at is None else at, total)
    rows = list(
        Message.objects.for_user(user).filter(chat=chat, index__gte=start, index__lt=start + WINDOW).order_by("index")
    )
    marked = quotes or {}
    lines = [Line(row, row.index <= read_to, quote=marked.get(row.identity)) for row in rows]
    _mark_last_read(lines)
    _attach_memories(user, chat, lines)
    last = rows[-1].index if rows else start
    following = start + WINDOW if start + WINDOW < total else None
    return Window(lines, start, last, total, max(0, start - WINDOW) if start else None, following)


def _start(at: int, total: int) -> int:
    at = max(0, min(at, total - 1))
    return at // WINDOW * WINDOW


def _mark_last_read(lines: list[Line]) -> None:
    read = [line for line in lines if line.is_read]
    if read and (len(read) < len(lines) or read[-1] is lines[-1]):
        read[-1].is_last_read = True


def _attach_memories(user: User, chat: Chat, lines: list[Line]) -> None:
    if not lines:
        return
    by_identity = {line.message.identity: line for line in lines}
    rows = (
        Memory.objects.for_user(user)
        .filter(block__chat=chat, is_topic=False)
        .filter(block__first_index__lte=lines[-1].message.index, block__last_index__gte=lines[0].message.index)
        .select_related("block")
    )
    for memory in rows:
        for identity in {str(item.get("identity", "")) for item in memory.evidence}:
            if identity in by_identity:
                by_identity[identity].memories.append(memory)


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

    def add(parent: UUID | None, depth: int) -> None:
        for chat in below.get(parent, []):
            if chat.pk in seen:
                continue
            seen.add(chat.pk)
            rows.append(ChatRow(chat, depth, unread.get(chat.pk, 0), memories.get(chat.pk, 0)))
            add(chat.pk, depth + 1)

    add(None, 0)
    rows += [
        ChatRow(chat, 0, unread.get(chat.pk, 0), memories.get(chat.pk, 0)) for chat in chats if chat.pk not in seen
    ]
    return rows
