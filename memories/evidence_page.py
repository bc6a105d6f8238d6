"""Where one memory came from: the messages, the model, the prompt, the job and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import User
from memories.models import Memory
from sync.models import Message


@dataclass(frozen=True)
class Quote:
    """One message that a memory came from. `before`, `marked`, `after` together are the shown text."""

    message: Message
    before: str
    marked: str
    after: str


@dataclass(frozen=True)
class Evidence:
    """All that is known about the origin of one memory."""

    memory: Memory
    quotes: list[Quote]
    missing: int
    similar: list[Memory]


SHOWN_LETTERS = 600


def evidence(user: User, memory: Memory) -> Evidence:
    """Read it for a memory whose block, chat, job and call are loaded."""
    items = [item for item in memory.evidence if isinstance(item, dict)]
    identities = {str(item.get("identity", "")): str(item.get("quote", "")) for item in items}
    rows = Message.objects.for_user(user).filter(chat=memory.block.chat_id, identity__in=identities).order_by("index")
    quotes = [_quote(row, identities[row.identity]) for row in rows[:20]] if memory.block.chat_id else []
    similar = Memory.objects.for_user(user).filter(pk=memory.duplicate_of_id) if memory.duplicate_of_id else []
    return Evidence(memory, quotes, max(0, len(identities) - len(quotes)), list(similar))


def _quote(message: Message, quote: str) -> Quote:
    at = message.text.find(quote) if quote else -1
    if at < 0:
        text = message.text[:SHOWN_LETTERS]
        return Quote(message, text + ("…" if len(message.text) > SHOWN_LETTERS else ""), "", "")
    start = max(0, at - SHOWN_LETTERS // 2)
    end = at + len(quote)
    before = ("…" if start else "") + message.text[start:at]
    after = message.text[end : end + SHOWN_LETTERS // 2]
    return Quote(message, before, quote, after + ("…" if end + len(after) < len(message.text) else ""))
