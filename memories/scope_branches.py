"""Which memories belong to which line of a story that branched (pure; spec/charmemory §3.13, §10 #16).

main ─────────●───────●──▶        A memory belongs to the line in whose own stretch its last source lies, and is known
              └─ A ────────▶      in every line that still holds that source: A knows what came before its fork and what
                                  happened in it, not what main says later.

Sources are found by the identity of messages, so that deleting a message above the fork changes nothing. Messages
without dates are alike in every line; of these only the ones up to the fork are the same. A memory without a chat, or
from a chat of another story, is known in a branch when it was made before the branch's own first message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from memories.lineage import shared_prefixes


@dataclass(frozen=True)
class Part:
    """One place where a memory comes from: messages of `chat` up to number `last` (None: unknown), best known by their
    `identities`. `made` is when that was said, "YYYY-MM-DD HH:MM", "" = unknown."""

    chat: UUID
    last: int | None = None
    identities: frozenset[str] = frozenset()
    made: str = ""


@dataclass(frozen=True)
class Source:
    """Where a memory comes from: no part when no chat tells it, several when it was made of others."""

    parts: tuple[Part, ...] = ()
    made: str = ""


@dataclass(frozen=True)
class Family:
    """The chats of one character. `forks`: branch → (parent, last number that both share); `messages`: chat →
    identity → (number, whether it has a date); `began`: branch → when its first own message was sent, "" = not yet."""

    forks: Mapping[UUID, tuple[UUID, int]] = field(default_factory=dict)
    messages: Mapping[UUID, Mapping[str, tuple[int, bool]]] = field(default_factory=dict)
    began: Mapping[UUID, str] = field(default_factory=dict)

    @cached_property
    def _reach(self) -> dict[UUID, Mapping[UUID, int]]:
        return {}

    def line(self, chat: UUID) -> list[UUID]:
        """The chat, the one it branched from, and so on."""
        found = [chat]
        while (fork := self.forks.get(found[-1])) is not None and fork[0] not in found:
            found.append(fork[0])
        return found

    def knows(self, chat: UUID, source: Source) -> bool:
        """Whether the line of `chat` knows what this source tells."""
        if not source.parts:
            return self._is_earlier(chat, source.made)
        return all(self._knows(chat, part, part.made or source.made) for part in source.parts)

    def home(self, source: Source) -> UUID | None:
        """The chat in whose own stretch the source lies; None without a chat, or when several lines told it."""
        homes = {self._home(part) for part in source.parts}
        return homes.pop() if len(homes) == 1 else None

    def _home(self, part: Part) -> UUID:
        chat, *above = self.line(part.chat)
        for ancestor in above:
            if not self._holds(ancestor, part):
                break
            chat = ancestor
        return chat

    def _knows(self, chat: UUID, part: Part, made: str) -> bool:
        if part.chat == chat:
            return True
        if part.chat not in self._shared(chat):
            return self._is_earlier(chat, made)
        if part.last is None and not part.identities:
            return part.chat in self.line(chat) and self._is_earlier(chat, made)
        return self._holds(chat, part)

    def _holds(self, chat: UUID, part: Part) -> bool:
        """Whether the messages of `part` are messages of `chat` too."""
        reach = self._shared(chat).get(part.chat, -1)
        own, theirs = self.messages.get(chat, {}), self.messages.get(part.chat, {})
        is_within = part.last is not None and part.last <= reach
        if not part.identities:
            return is_within
        return all(
            _is_same(own[one], reach) if one in own else is_within and one not in theirs for one in part.identities
        )

    def _is_earlier(self, chat: UUID, made: str) -> bool:
        began = self.began.get(chat, "")
        return not began or not made or made < began

    def _shared(self, chat: UUID) -> Mapping[UUID, int]:
        if chat not in self._reach:
            forks = ((child, parent, last) for child, (parent, last) in self.forks.items())
            self._reach[chat] = shared_prefixes(chat, forks)
        return self._reach[chat]


def _is_same(message: tuple[int, bool], reach: int) -> bool:
    number, is_dated = message
    return is_dated or number <= reach
