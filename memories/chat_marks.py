"""How each message of a chat was read for one reader: by a model, by hand, not at all; and what was edited since.

What counts as read is decided in memories/queries.py; here stands how it came to that, for the marks of the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.models import User
from memories.models import ExtractedChunk
from memories.queries import REOPENED, family_of
from sync.models import Character, Chat, Message

BY_MODEL = ("memories", "nothing")
Facts = tuple[int, str, str]  # number, identity, content


@dataclass(frozen=True)
class Read:
    """How one message was read. `outcome` is that of its chunk (memories/models/reading.py)."""

    outcome: str
    is_edited: bool = False

    @property
    def is_by_model(self) -> bool:
        return self.outcome in BY_MODEL


def reads_of(user: User, chat: Chat, character: Character, messages: Iterable[Message]) -> dict[str, Read]:
    """{identity: how it was read} for those of `messages` that a chunk of this chat or of a relative names."""
    facts = [(row.index, row.identity, row.content[:12]) for row in messages]
    family = family_of(user, chat)
    rows = ExtractedChunk.objects.for_user(user).filter(character=character, chat__in=[chat.pk, *family]).order_by("pk")
    own: dict[str, tuple[str, str]] = {}
    theirs: dict[UUID, dict[str, tuple[str, str]]] = {}
    for chat_id, outcome, marks in rows.values_list("chat", "outcome", "marks"):
        known = own if chat_id == chat.pk else theirs.setdefault(chat_id, {})
        for mark in marks:
            known[mark[0]] = (outcome, mark[1])
    found: dict[str, Read] = {}
    for relative, known in theirs.items():
        found |= _known(facts, known, family[relative])
    found |= _known(facts, own, None)
    return {one: read for one, read in found.items() if read.outcome != REOPENED}


def _known(facts: Sequence[Facts], known: dict[str, tuple[str, str]], shared: int | None) -> dict[str, Read]:
    """What these chunks say; those of a relative only as far as both chats are the same."""
    found = {}
    for index, identity, content in facts:
        outcome, then = known.get(identity, ("", ""))
        if outcome and (shared is None or index <= shared or then == content):
            found[identity] = Read(outcome, then != content)
    return found
