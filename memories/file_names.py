"""What a memory file is called: one rule for chats and groups alike (spec/charmemory §2.2)."""

from __future__ import annotations

from collections.abc import Iterable

ALLOWED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
ENDING = "-memories.md"
NAMELESS = "char-memories.md"


def sanitize(name: str) -> str:
    """Every UTF-16 unit outside letters, digits, `_` and `-` becomes `_`, as SillyTavern's extension counts them."""
    return "".join(c if c in ALLOWED else "_" * (2 if ord(c) > 0xFFFF else 1) for c in name)


def auto_file_name(name: str, *, per_chat: bool = False, chat: str | None = None) -> str:
    """The file name that follows from a character's name, and from a chat when each chat has its own file."""
    if not name:
        return NAMELESS
    middle = f"-chat{chat or 'default'}" if per_chat else ""
    return f"{sanitize(name)}{middle}{ENDING}"


def is_memory_file(name: str) -> bool:
    """Whether a Data Bank file calls itself a memory file."""
    return name.endswith(ENDING) or name == NAMELESS


def find_existing(
    names: Iterable[str], character: str, *, own_name: str = "", chat: str | None = None, chats: Iterable[str] = ()
) -> str | None:
    """Which of the Data Bank files `names` is this character's memory file, or None.

    The name a person chose wins, then the automatic name. Last comes any other memory file that belongs to no single
    chat; `chats` are the character's chat names. Only the exact per-chat form counts as a chat's file, so a character
    called "Neo-chatter" keeps its own.
    """
    present = list(names)
    for wanted in (own_name, auto_file_name(character, per_chat=chat is not None, chat=chat)):
        if wanted and wanted in present:
            return wanted
    if chat is not None:
        return next((name for name in present if f"-chat{chat}-" in name and name.endswith(ENDING)), None)
    of_chats = {f"-chat{one}{ENDING}" for one in chats}
    per_chat = f"{sanitize(character)}-chat"
    free = (n for n in present if is_memory_file(n) and not any(n.endswith(end) for end in of_chats))
    return next((name for name in free if not name.startswith(per_chat)), None)
