"""Which stretches of chats to read again because messages changed after memories were made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from accounts.models import User
from memories.models import Memory
from memories.review_queries import FLAGS
from sync.models import Character, Chat, Message

MOST = 2_000  # memories that are looked at for one character
AT_ONCE = 500


@dataclass(frozen=True)
class ChangedStretch:
    """Messages of a chat, and how many memories came from them."""

    chat: Chat
    first: int
    last: int
    memories: int
    whose: UUID

    @property
    def url(self) -> str:
        """The page that reads it again."""
        where = reverse("memories:read_range", args=[self.chat.pk])
        return f"{where}?from={self.first}&to={self.last}&whose={self.whose}"


def stretches_of(user: User, rows: Iterable[Memory]) -> dict[UUID, ChangedStretch]:
    """For each memory whose chat is there: the messages it came from, as they are numbered now.

    Where one of them was deleted, the whole stretch that was read with it.
    """
    there = [row for row in rows if _is_there(row.block.chat)]
    places = _places(user, {row.block.chat_id for row in there}, {one for row in there for one in _named(row)})
    found = {row.pk: _stretch(row, places) for row in there}
    return {pk: stretch for pk, stretch in found.items() if stretch is not None}


def _is_there(chat: Chat | None) -> bool:
    return chat is not None and chat.gone_at is None and bool(chat.message_count)


def changed_stretches(user: User, character: Character) -> list[ChangedStretch]:
    """Everything of a character that should be read again, stretches that touch each other together."""
    rows = Memory.objects.for_user(user).filter(FLAGS["changed"], block__file__character=character, is_topic=False)
    marked = list(rows.select_related("block__chat", "block__file")[:MOST])
    return _together(list(stretches_of(user, marked).values()))


def _together(parts: Sequence[ChangedStretch]) -> list[ChangedStretch]:
    merged: list[ChangedStretch] = []
    for one in sorted(parts, key=lambda part: (part.chat.name, str(part.chat.pk), part.first)):
        last = merged[-1] if merged else None
        if last is not None and last.chat.pk == one.chat.pk and one.first <= last.last + 1:
            count = last.memories + one.memories
            merged[-1] = ChangedStretch(last.chat, last.first, max(last.last, one.last), count, last.whose)
        else:
            merged.append(one)
    return merged


def _named(row: Memory) -> list[str]:
    return [str(one["identity"]) for one in row.evidence if isinstance(one, dict) and one.get("identity")]


Places = dict[tuple[UUID | None, str], int]


def _places(user: User, chats: set[UUID | None], identities: set[str]) -> Places:
    """{(chat, identity): number of the message}; the number of queries does not grow with chats."""
    wanted = sorted(identities)
    found: Places = {}
    for start in range(0, len(wanted), AT_ONCE):
        rows = Message.objects.for_user(user).filter(chat__in=chats, identity__in=wanted[start : start + AT_ONCE])
        found |= {(chat, one): index for chat, one, index in rows.values_list("chat", "identity", "index")}
    return found


def _stretch(row: Memory, places: Places) -> ChangedStretch | None:
    named, block = _named(row), row.block
    numbers = [places[block.chat_id, one] for one in named if (block.chat_id, one) in places]
    if len(numbers) < len(named) or not numbers:
        numbers += [one for one in (block.first_index, block.last_index) if one is not None]
    if not numbers or block.chat is None:
        return None
    end = block.chat.message_count - 1
    return ChangedStretch(block.chat, min(*numbers, end), min(max(numbers), end), 1, block.file.character_id)
