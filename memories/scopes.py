"""Which memory file a chat is read into, and which memories a reading of it may know of (spec/charmemory §3.11, §3.13).

    one memory, branches apart       ──▶ the character's file; a branch has one of its own (without a choice: this)
    one memory, shared timeline      ──▶ the character's file
    one memory for each chat         ──▶ a file for each chat; a branch's begins with what came before the fork
    remembering in another's file    ──▶ that file, whatever the chat (memories/sharing.py)

Chats are known by their rows, never by the names of their files: a renamed branch keeps its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.db.models import OneToOneRel
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories import reading_keys, scope_files
from memories.memory_file import facts_of, file_for
from memories.models import MemoryFile, MemoryScope, MemoryShare
from memories.scope_sources import parent_of
from sync.models import Character, Chat

ONES = ("memory_scope", "memory_share")  # select_related these, where a character is loaded to be read for
UNDIVIDED = (MemoryScope.Scope.ALL, MemoryScope.Timeline.SHARED)


def scope_of(character: Character) -> MemoryScope:
    """What the person chose, or the usual: one memory, each branch its own past."""
    if _is_known_to_have_none(character, "memory_scope"):
        return MemoryScope(character_id=character.pk)
    rows = MemoryScope.objects.for_user(character.tavern.owner).filter(character=character)
    return rows.first() or MemoryScope(character=character)


def share_of(character: Character) -> MemoryShare | None:
    """The share by which the character remembers in somebody else's file, if it does."""
    if _is_known_to_have_none(character, "memory_share"):
        return None
    rows = MemoryShare.objects.for_user(character.tavern.owner).filter(character=character)
    return rows.select_related("file__owner", "file__character", "attachment").first()


def _is_known_to_have_none(character: Character, name: str) -> bool:
    """Whether the character was loaded together with this (ONES), and there was none."""
    relation = cast(OneToOneRel, Character._meta.get_field(name))
    return bool(relation.is_cached(character)) and relation.get_cached_value(character) is None


def file_of_reading(character: Character, chat: Chat) -> MemoryFile:
    """The file that memories from `chat` go into for `character`; made, and begun, when it is first needed."""
    share = share_of(character)
    if share is not None:
        return share.file
    chosen = scope_of(character)
    return _file(character, chat, chosen, ()) if has_own_file(chosen, character, chat) else file_for(character)


def own_file(character: Character) -> MemoryFile:
    """The file that what a person writes for the character goes into, and that its pages show first."""
    share = share_of(character)
    return file_for(character) if share is None else share.file


def known_facts(file: MemoryFile, character: Character, chat: Chat) -> list[tuple[UUID, str]]:
    """(id, text) of what a reading of `chat` for `character` may know: all of `file`, which file_of_reading gave, and
    nothing of any other. What a branch inherited lies in its own file."""
    return facts_of(file)


def has_own_file(chosen: MemoryScope, character: Character, chat: Chat) -> bool:
    """Whether this chat has a memory of its own."""
    if chosen.scope == MemoryScope.Scope.CHAT:
        return True
    return chosen.timeline == MemoryScope.Timeline.BRANCHES and _parent(character, chat) is not None


def check_not_read(user: User, character: Character) -> None:
    """ValueError while a job reads chats for the character, alone or with all of a group: whose file a chunk goes
    into is decided before its call."""
    rows = Job.objects.for_user(user).filter(state__in=Job.ACTIVE)
    together = rows.filter(kind="extract_together").values_list("params", flat=True)
    is_read = rows.filter(key=reading_keys.of_character(character.pk)).exists()
    if is_read or any(str(character.pk) in one.get("members", ()) for one in together):
        raise ValueError(_("Chats are being read just now. Wait until that is over; nothing was changed."))


def is_divided(chosen: MemoryScope) -> bool:
    """Whether some chats would remember for themselves."""
    return (chosen.scope, chosen.timeline) != UNDIVIDED


def ancestors_to_read(character: Character, chats: Iterable[Chat]) -> dict[UUID, int]:
    """The chats that these branched from, each up to the last message that belongs to them too, where memories are
    divided: what lines share is read into the file of the line it lies in first, or that line would never learn it.

    It costs nothing more: those messages are read once, here or in the branch.
    """
    chosen, found = scope_of(character), dict[UUID, int]()
    if not is_divided(chosen) or share_of(character) is not None:
        return {}
    for chat in chats:
        seen, one, last = {chat.pk}, chat, None
        while (fork := _parent(character, one)) is not None and fork[0] not in seen and one.parent is not None:
            last = fork[1] if last is None else min(last, fork[1])
            seen.add(fork[0])
            found[fork[0]] = max(last, found.get(fork[0], -1))
            one = one.parent
    return {pk: last for pk, last in found.items() if last >= 0}


def _file(character: Character, chat: Chat, chosen: MemoryScope, below: tuple[UUID, ...]) -> MemoryFile:
    """The chat's own file, begun with what its parent's line knew; a circle of parents ends at its first chat."""
    file = file_for(character, chat)
    fork = _parent(character, chat)
    if fork is None or file.version or fork[0] in below or chat.parent is None:
        return file
    parent = (
        _file(character, chat.parent, chosen, (*below, chat.pk))
        if has_own_file(chosen, character, chat.parent)
        else file_for(character)
    )
    scope_files.begin(file, chat, parent)
    return file


def _parent(character: Character, chat: Chat) -> tuple[UUID, int] | None:
    """As scope_sources.parent_of, which asks for the chat's own file only where that decides."""
    if chat.parent_id is None:
        return None
    has_file = chat.fork_index is None and chat.memory_files.filter(character=character).exists()
    return parent_of(chat, has_file=has_file)


def files_in_use(user: User, character: Character) -> list[MemoryFile]:
    """The files that the character's chats are read into as things stand, its own first."""
    share = share_of(character)
    if share is not None:
        return [share.file]
    chosen = scope_of(character)
    rows = MemoryFile.objects.for_user(user).filter(character=character).select_related("chat__parent", "attachment")
    found = [file for file in rows if file.chat is None or has_own_file(chosen, character, file.chat)]
    return sorted(found, key=lambda file: (file.chat_id is not None, file.name))
