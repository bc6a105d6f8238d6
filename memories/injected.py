"""What else stood in SillyTavern's prompt when messages were written: told again, it is nothing new.

Known are the records of what was injected for a message (models.Snapshot), and lorebook entries that the messages
themselves bring in: their keys are looked for as SillyTavern does, plain and whatever the case, in the books that are
bound to the character, to the chat, or used everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Q

from accounts.models import User
from memories.models import Snapshot
from memories.transcript import Chunk
from sync.models import Character, Chat, LorebookEntry

MOST = 200  # texts
LONGEST = 4_000  # characters of one text


def injected_for(user: User, chat: Chat, character: Character, chunk: Chunk) -> list[str]:
    """The texts, each once, those that were recorded first."""
    texts = [*_recorded(user, chat, chunk), *_triggered(user, chat, character, chunk)]
    cleaned = (text[:LONGEST].strip() for text in texts)
    return list(dict.fromkeys(text for text in cleaned if text))[:MOST]


def _recorded(user: User, chat: Chat, chunk: Chunk) -> Iterator[str]:
    """Memories and lore of the records for these messages."""
    identities = [entry.identity for entry in chunk.entries]
    rows = Snapshot.objects.for_user(user).filter(chat=chat, identity__in=identities)
    for data in rows.order_by("index", "pk").values_list("data", flat=True):
        for kind, name in (("memories", "text"), ("lore", "content")):
            for one in _items(data, kind):
                yield str(one.get(name, ""))


def _items(data: object, kind: str) -> list[dict[str, object]]:
    found = data.get(kind) if isinstance(data, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _triggered(user: User, chat: Chat, character: Character, chunk: Chunk) -> Iterator[str]:
    """Entries of the books in use whose keys these messages say, and those that are always there."""
    said = "\n".join(f"{line.entry.name}: {line.text}" for line in chunk.lines).casefold()
    rows = LorebookEntry.objects.for_user(user).filter(_books(chat, character), is_enabled=True)
    for keys, others, is_constant, content in rows.values_list("keys", "secondary_keys", "is_constant", "content"):
        if is_constant or (_holds(said, keys) and (not others or _holds(said, others))):
            yield content


def _books(chat: Chat, character: Character) -> Q:
    tavern = character.tavern
    stem = character.avatar.removesuffix(".png")
    further = tavern.character_lorebooks.get(stem, []) if isinstance(tavern.character_lorebooks, dict) else []
    names = [character.bound_lorebook, chat.chat_lorebook, *tavern.global_lorebooks, *further]
    named = Q(book__name__in=[str(name) for name in names if name], book__character=None)
    return Q(book__tavern=tavern, book__gone_at=None) & (named | Q(book__character=character))


def _holds(said: str, keys: Iterable[object]) -> bool:
    return any(key and key in said for key in (str(one).strip().casefold() for one in keys))
