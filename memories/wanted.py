"""What a reading was asked for: which chats, which stretches of them, and what it leaves alone (pure).

Message numbers move when SillyTavern's chat changes, so a stretch is kept as identities: for each end the twenty
messages next to it, of which the nearest one that is still there says where the end is now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memories.reading import TAIL, find_position

Ends = tuple[int, int]  # first and last message number, both included
NOWHERE: Ends = (0, -1)


@dataclass(frozen=True)
class Span:
    """A stretch of a chat. `first` begins with its first message and goes on, `last` ends with its last one; None: the
    stretch reaches to that end of the chat."""

    first: tuple[str, ...] | None = None
    last: tuple[str, ...] | None = None

    @classmethod
    def of(cls, identities: Sequence[str], numbers: Sequence[int], first: int | None, last: int | None) -> Span:
        """The messages from number `first` to `last`; ValueError when there is none in between."""
        inside = [
            one
            for one, number in zip(identities, numbers, strict=True)
            if (first is None or number >= first) and (last is None or number <= last)
        ]
        if not inside:
            raise ValueError
        return cls(
            None if first is None else tuple(inside[:TAIL]),
            None if last is None else tuple(inside[-TAIL:]),
        )

    def ends(self, identities: Sequence[str], numbers: Sequence[int]) -> Ends:
        """Where it lies now; nowhere when all messages next to one of its ends are gone."""
        begin, end = 0, len(identities) - 1
        if self.first is not None:
            # Looked for from the other side: the first of them that is still there.
            begin = find_position(tuple(reversed(self.first)), identities)
        if self.last is not None:
            end = find_position(self.last, identities)
        if begin < 0 or end < begin:
            return NOWHERE
        return numbers[begin], numbers[end]


@dataclass(frozen=True)
class Wanted:
    """`chats`: of the character's own chats, None for all of them. `groups`: chats of groups. `spans`: only these
    stretches of a chat. `careful`: chats of which the newest messages are left alone, as nobody asked for them."""

    chats: tuple[str, ...] | None = None
    groups: tuple[str, ...] = ()
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    careful: frozenset[str] = frozenset()

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Wanted:
        """As a job keeps it."""
        chats = params.get("chats")
        spans = {
            chat: tuple(Span(*(None if end is None else tuple(end) for end in one)) for one in found)
            for chat, found in (params.get("spans") or {}).items()
        }
        return cls(
            None if chats is None else tuple(chats),
            tuple(params.get("groups") or ()),
            spans,
            frozenset(params.get("careful") or ()),
        )

    @property
    def params(self) -> dict[str, Any]:
        """For a job to keep."""
        return {
            "chats": None if self.chats is None else list(self.chats),
            "groups": list(self.groups),
            "spans": {chat: [[one.first, one.last] for one in found] for chat, found in self.spans.items()},
            "careful": sorted(self.careful),
        }

    @property
    def named(self) -> tuple[str, ...]:
        """The chats that are named one by one."""
        return (*(self.chats or ()), *self.groups)

    def covers(self, chat: str) -> bool:
        """Whether a chat (one of the character's own, or named) is read at all."""
        return chat in self.named or self.chats is None

    def is_limited(self, chat: str) -> bool:
        return chat in self.spans or chat in self.careful

    def and_also(self, other: Wanted) -> Wanted:
        """Both wishes: where one of them has no limit, there is none."""
        chats = None if self.chats is None or other.chats is None else _joined(self.chats, other.chats)
        groups = _joined(self.groups, other.groups)
        spans = {}
        for chat in {*self.spans, *other.spans}:
            found = [one.spans.get(chat) for one in (self, other) if one.covers(chat)]
            if None not in found:
                spans[chat] = _joined(*(one for one in found if one is not None))
        careful = [
            chat
            for chat in self.careful | other.careful
            if all(chat in one.careful for one in (self, other) if one.covers(chat))
        ]
        return Wanted(chats, groups, spans, frozenset(careful))


def _joined(*parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in part))


def is_inside(number: int, ends: Collection[Ends]) -> bool:
    """Whether a message number lies in one of these stretches."""
    return any(first <= number <= last for first, last in ends)
