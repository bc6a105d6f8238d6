"""The CharMemory extension's own state, read from a linked folder when a person asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sync.models import Chat, Tavern
from sync.tavern.charmemory import ChatState, ExtensionState, read_chat_state, read_keys, read_state
from sync.tavern.chats import read_header
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused

SETTINGS = "settings.json"


@dataclass
class Found:
    """Its settings (None: it was never there), its notes by chat, and the chats that could not be read."""

    state: ExtensionState | None
    chats: dict[Chat, ChatState] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def read_extension(tavern: Tavern, chats: Iterable[Chat]) -> Found:
    """Its settings and the headers of these chats; of each chat only the first line is read.

    SettingsError when settings.json is no JSON, OSError when the folder or settings.json cannot be read.
    """
    with Folder(tavern.root) as folder:
        found = Found(read_state(folder.read(SETTINGS)))
        for chat in chats:
            try:
                with folder.open(chat.path) as file:
                    state = read_chat_state(read_header(file).charmemory)
            except (OSError, ValueError, PathRefused):
                found.unreadable.append(chat.name)
                continue
            if not state.is_empty:
                found.chats[chat] = state
    return found


def read_stored_keys(tavern: Tavern) -> dict[str, str]:
    """The keys that it keeps in settings.json, by provider; for a person who asked for them."""
    with Folder(tavern.root) as folder:
        return read_keys(folder.read(SETTINGS))
