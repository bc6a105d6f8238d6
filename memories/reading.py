"""What of a chat has been read, by identity instead of position (pure; architecture, Watermark).

Messages are compared through marks. A message with a date is known by its identity, whatever was deleted or inserted
around it. Messages without dates (very old chats) are aligned by their content: an equal number of changed ones in the
same place was edited, anything else is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

TAIL = 20


class Mark(NamedTuple):
    """One message as reading remembers it: identity, short content hash, and its role when it has no date (else "")."""

    identity: str
    content: str
    undated: str = ""

    @classmethod
    def of(cls, identity: str, content: str, role: str, raw_date: str) -> Mark:
        return cls(identity, content[:12], "" if raw_date else role)

    @property
    def is_dated(self) -> bool:
        return not self.undated


def unread(messages: Sequence[Mark], read: Iterable[Mark]) -> list[int]:
    """Positions in `messages` that were not read yet; `read` lists marks in the order of reading."""
    known = list({mark.identity: mark for mark in read}.values())
    identities = {mark.identity for mark in known}
    fresh = [p for p, mark in enumerate(messages) if not mark.undated and mark.identity not in identities]
    for role in {mark.undated for mark in messages} - {""}:
        positions = [p for p, mark in enumerate(messages) if mark.undated == role]
        fresh += _unread_equals(messages, positions, [mark for mark in known if mark.undated == role])
    return sorted(fresh)


def inherited(messages: Sequence[Mark], read: Iterable[Mark], shared: int) -> list[Mark]:
    """Which of a relative's marks stand for messages of this chat: up to position `shared` by identity, later ones
    only when they have a date and still say the same."""
    by_identity = {mark.identity: mark for mark in read}
    found = []
    for position, mark in enumerate(messages):
        other = by_identity.get(mark.identity)
        if other and (position <= shared or (mark.is_dated and other.content == mark.content)):
            found.append(other)
    return found


def _unread_equals(messages: Sequence[Mark], positions: list[int], read: list[Mark]) -> list[int]:
    """Among messages of one role without dates: those that no read message stands for."""
    if not read:
        return positions
    now = [messages[position].content for position in positions]
    then = [mark.content for mark in read]
    fresh: list[int] = []
    for kind, a, b, c, d in SequenceMatcher(None, then, now, autojunk=False).get_opcodes():
        # A changed end may as well be a new message: reading twice is better than losing it.
        is_edit = kind == "replace" and b - a == d - c and d < len(now)
        if kind in ("insert", "replace") and not is_edit:
            fresh += positions[c:d]
    return fresh


def find_position(tail: Sequence[str], identities: Sequence[str]) -> int:
    """Where reading stands: the position of the newest identity of `tail` (newest last) that is still there.

    -1 when none of them is: deletions, insertions and renames do not move it, only losing all of the tail does.
    """
    places = {identity: position for position, identity in enumerate(identities)}
    return next((places[one] for one in reversed(tail) if one in places), -1)


def tail_of(identities: Sequence[str], position: int) -> list[str]:
    """The last identities up to `position`, newest last."""
    return list(identities[max(0, position + 1 - TAIL) : position + 1])


def last_read(count: int, fresh: Collection[int]) -> int:
    """The position up to which everything has been read, later unread messages left out; -1 = nothing."""
    return min(fresh, default=count) - 1


def chunk_key(chat: str, character: str, marks: Iterable[tuple[str, str]]) -> str:
    """What a stretch of messages is paid for under: chat, character, identities and full contents."""
    digest = hashlib.sha256(f"{chat}\n{character}".encode())
    for identity, content in marks:
        digest.update(f"\n{identity}:{content}".encode())
    return digest.hexdigest()
