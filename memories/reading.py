"""What of a chat has been read, by identity instead of position (pure; architecture, Watermark).

Messages are compared through marks. A message with a date is known by its identity, whatever was deleted or inserted
around it. Messages without dates (very old chats) are looked at more closely, because a deleted and an inserted one
are hard to tell from an edited one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
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
    """Positions in `messages` that were not read yet; `read` lists what was read, in any order.

    Whatever is counted as read once stays read while its identity and content stay.
    """
    exact = set(read)
    identities = {mark.identity for mark in exact}
    new = {place for place, mark in enumerate(messages) if mark.identity not in identities}
    # Without dates a row may stand for another message than before: a changed one beside new ones, or at the end,
    # may be new as well, and reading twice is better than losing it. Elsewhere it was edited.
    end = len(messages) - 1
    doubtful = {
        place
        for place, mark in enumerate(messages)
        if mark.undated and place not in new and mark not in exact and (place == end or {place - 1, place + 1} & new)
    }
    return sorted(new | doubtful)


def inherited(messages: Sequence[Mark], read: Iterable[Mark], shared: int, exact: Collection[int] = ()) -> list[Mark]:
    """Which of a relative's marks stand for messages of this chat: up to position `shared`, and at positions `exact`
    (`is_exact`), by identity; others only when they have a date and still say the same."""
    by_identity = {mark.identity: mark for mark in read}
    found = []
    for position, mark in enumerate(messages):
        other = by_identity.get(mark.identity)
        is_same = position <= shared or position in exact
        if other and (is_same or (mark.is_dated and other.content == mark.content)):
            found.append(other)
    return found


def replayed(rows: Iterable[tuple[bool, Iterable[Mark]]], read: Iterable[Mark] = ()) -> list[Mark]:
    """What is read after `rows` in their order, each (is it taken back, marks), on top of what was read before."""
    known: dict[str, dict[Mark, None]] = {}
    for is_back, marks in ((False, read), *rows):
        for mark in marks:
            if is_back:
                known.pop(mark.identity, None)
            else:
                known.setdefault(mark.identity, {})[mark] = None
    return [mark for marks in known.values() for mark in marks]


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


def end_of_stretch(fresh: Sequence[int]) -> int:
    """The last position of the first unread stretch without a gap."""
    return next((a for a, b in pairwise(fresh) if b > a + 1), fresh[-1])


def chunk_key(chat: str, character: str, marks: Iterable[tuple[str, str]]) -> str:
    """What a stretch of messages is paid for under: chat, character, identities and full contents."""
    digest = hashlib.sha256(f"{chat}\n{character}".encode())
    for identity, content in marks:
        digest.update(f"\n{identity}:{content}".encode())
    return digest.hexdigest()
