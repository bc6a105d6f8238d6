"""What every try of a prompt has: what is tried, on what, and the text cut into sections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memories.extraction_prompt import Measure
from providers.models import Connection
from sync.models import Character, Chat

NOT_SAVED = "not saved"  # the version of a text that is tried before it is kept
SECTIONS = {
    "charCard": "card",
    "existingMemories": "memories",
    "recentMessages": "messages",
    "memories": "memories",
    "sourceText": "notes",
    "participants": "participants",
}


@dataclass(frozen=True)
class Trial:
    """What to try: a prompt (its saved text, or `text`) on the messages `first` to `last` of a chat, or on what is
    remembered of them."""

    name: str
    character: Character
    chat: Chat
    first: int
    last: int
    connection: Connection
    text: str = ""


@dataclass(frozen=True)
class NotesTrial:
    """What to try on notes: the prompt of imports (its saved text, or `text`). `notes` were pasted, unless
    `attachment` is the id of the Data Bank file that they stand in."""

    name: str
    character: Character
    connection: Connection
    notes: str = ""
    attachment: str = ""
    text: str = ""


@dataclass(frozen=True)
class Section:
    """A stretch of the text: `kind` is words, card, memories, messages, notes or participants; `tokens` as the
    model's server counts."""

    kind: str
    text: str
    tokens: int


def sections(parts: Iterable[tuple[str, str]], size: Measure) -> list[Section]:
    """Neighbours of one kind together: a name inside a sentence is no section of its own."""
    joined: list[tuple[str, str]] = []
    for name, words in parts:
        kind = SECTIONS.get(name, "words")
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + words)
        else:
            joined.append((kind, words))
    return [Section(kind, words, size(words)) for kind, words in joined]
