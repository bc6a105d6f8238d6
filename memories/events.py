"""News from reading chats, for whoever decides when to read next."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.events import Event


@dataclass(frozen=True)
class ReadingBegan:
    """A reading of these chats began, by itself or by hand."""

    owner_id: int | uuid.UUID
    chat_ids: list[uuid.UUID]


@dataclass(frozen=True)
class ReadingEnded:
    """A reading for one character ended; `left_over`: by chat, character messages left unread on purpose."""

    owner_id: int | uuid.UUID
    character_id: uuid.UUID
    chat_ids: list[uuid.UUID]
    memories: int = 0
    left_over: Mapping[uuid.UUID, int] = field(default_factory=dict)


reading_began: Event[ReadingBegan] = Event("reading_began")
reading_ended: Event[ReadingEnded] = Event("reading_ended")
