"""A stretch of a chat that somebody looks at: its messages, and the memories that came from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import Q

from accounts.models import User
from memories.models import Memory, MemoryFile
from memories.queries import speaks_up
from sync.models import Chat, Message

FAMILY = 20  # chats above a branch that are looked at


@dataclass(frozen=True)
class Old:
    """A memory that came from the stretch. `also` counts its messages outside of it."""

    memory: Memory
    also: int = 0

    @property
    def is_locked(self) -> bool:
        return self.memory.is_locked or self.memory.block.is_locked

    @property
    def is_replaceable(self) -> bool:
        """Whether reading the stretch again may take its place."""
        return not self.is_locked and not self.also


@dataclass
class Range:
    """Messages `first` to `last` of a chat, both included. `identities` are those of all, `speaking` of those that a
    model would be shown."""

    chat: Chat
    first: int
    last: int
    identities: list[str] = field(default_factory=list)
    speaking: int = 0

    @property
    def messages(self) -> int:
        return len(self.identities)


def range_of(user: User, chat: Chat, first: int | None, last: int | None) -> Range:
    """The stretch between two numbers, whichever is larger; None is that end of the chat."""
    end = max(0, chat.message_count - 1)
    low = 0 if first is None else min(max(0, first), end)
    high = end if last is None else min(max(0, last), end)
    found = Range(chat, min(low, high), max(low, high))
    rows = Message.objects.for_user(user).filter(chat=chat, index__gte=found.first, index__lte=found.last)
    for identity, role, name in rows.order_by("index").values_list("identity", "role", "name"):
        found.identities.append(identity)
        found.speaking += speaks_up(role, name)
    return found


def memories_from(user: User, file: MemoryFile, stretch: Range) -> list[Old]:
    """Memories of `file` that came from these messages: by evidence, else by the stretch of their block.

    Those that a branch has from the chats above it count too.
    """
    rows = Memory.objects.for_user(user).filter(
        block__file=file, is_topic=False, block__chat__in=_line_of(stretch.chat)
    )
    near = Q(block__first_index__lte=stretch.last, block__last_index__gte=stretch.first)
    rows = rows.filter(near | ~Q(evidence=[])).select_related("block__chat")
    wanted = set(stretch.identities)
    found = (_old(row, stretch, wanted) for row in rows.order_by("block__order", "block__created_at", "order"))
    return [one for one in found if one is not None]


def _line_of(chat: Chat) -> list[Chat]:
    """The chat and those it branched from."""
    line = [chat]
    while line[-1].parent is not None and line[-1].parent not in line and len(line) < FAMILY:
        line.append(line[-1].parent)
    return line


def _old(row: Memory, stretch: Range, wanted: Collection[str]) -> Old | None:
    named = {str(one["identity"]) for one in row.evidence if isinstance(one, dict) and one.get("identity")}
    if named:
        return Old(row, len(named - set(wanted))) if named & set(wanted) else None
    first, last = row.block.first_index, row.block.last_index
    if first is None or last is None or row.block.chat_id != stretch.chat.pk:
        return None
    return Old(row) if stretch.first <= first and last <= stretch.last else None
