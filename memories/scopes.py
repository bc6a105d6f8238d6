"""Which memory file a chat is read into, and which memories it may know of."""

from __future__ import annotations

from memories.memory_file import file_for
from memories.models import MemoryFile
from sync.models import Character, Chat


def file_of_reading(character: Character, chat: Chat) -> MemoryFile:
    """The file that memories from `chat` go into for `character`."""
    return file_for(character)
