"""Messages that were read, as an extraction notes it."""

from __future__ import annotations

import uuid

from accounts.models import User
from memories import watermark
from memories.models import ExtractedChunk
from memories.reading import Mark
from sync.models import Character, Chat, Message


def owner_of(chat: Chat) -> User:
    return chat.tavern.owner


def read(
    chat: Chat, character: Character, first: int, last: int, outcome: str = "memories", **fields: object
) -> ExtractedChunk:
    """Messages `first` to `last` were read for `character`; the watermark stands where that puts it."""
    user = owner_of(chat)
    rows = Message.objects.for_user(user).filter(chat=chat, index__gte=first, index__lte=last).order_by("index")
    marks = [Mark.of(row.identity, row.content, row.role, row.raw_date) for row in rows]
    key = f"test-{uuid.uuid4().hex}"
    chunk = watermark.record(user, chat, character, marks, first=first, last=last, outcome=outcome, key=key, **fields)
    watermark.recount(user, chat, character)
    return chunk
