"""Which memory file a chat is read into, and which memories a reading of it may know of (spec/charmemory §3.11, §3.13).

    one memory, shared timeline      ──▶ the character’s file (without a choice: this)
    one memory, branches apart       ──▶ the character’s file; a branch has one of its own
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
from memories import queries, reading_keys, scope_files
from memories.memory_file import facts_of, file_for
from memories.models import MemoryFile, MemoryScope, MemoryShare
from memories.scope_sources import parent_of
from sync.models import Character, Chat

ONES = ("memory_scope", "memory_share")  # select_related these, where a character is loaded to be read for
UNDIVIDED = (MemoryScope.Scope.ALL, MemoryScope.Timeline.SHARED)


def scope_of(character: Character) -> MemoryScope:
    """What the person chose, or the usual: one memory, a shared timeline."""
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


def file_of_reading(character: Character, chat: Chat, last: int | None = None, *, begins: bool = True) -> MemoryFile:
    """The file that memories from `chat` go into for `character`; made, and begun, when it is first needed.

    Messages up to `last` that lie in the line of an ancestor go into the file of that line. `begins` False: whoever
    only looks does not fill it.
    """
    share = share_of(character)
    if share is not None:
        return share.file
    chosen = scope_of(character)
    if last is not None and is_divided(chosen):
        chat = _whose(character, chat, last)
    if not has_own_file(chosen, character, chat):
        return file_for(character)
    return _file(character, chat, chosen, ()) if begins else file_for(character, chat)


def end_of_line(character: Character, chat: Chat, first: int, last: int) -> int:
    """The last message, `last` at most, that lies in the same line of the story as `first` does: what comes behind it
    goes into another file."""
    if chat.parent_id is None or share_of(character) is not None or not is_divided(scope_of(character)):
        return last
    return min([last, *(shared for _chat, shared in _above(character, chat) if shared >= first)])


def pass_on(file: MemoryFile, character: Character, chat: Chat, first: int, blocks: Iterable[UUID]) -> None:
    """Have lines that share these messages of `chat`, from `first` on, know what was made of them, where they have a
    file already (a later one begins with it). Called where the blocks were written, in the same transaction."""
    chosen = scope_of(character)
    if not is_divided(chosen) or share_of(character) is not None:
        return
    rows = MemoryFile.objects.for_user(file.owner).filter(character=character, chat__isnull=False).exclude(pk=file.pk)
    if not (others := list(rows.select_related("chat__parent", "character"))):
        return
    reach = queries.family_of(file.owner, chat)
    if above := _above(character, chat):
        reach[chat.pk] = above[0][1]
    begun = []
    for other in others:
        if other.chat is None or reach.get(other.chat.pk, -1) < first:
            continue
        if not has_own_file(chosen, character, other.chat):
            continue
        if other.version:
            begun.append(other)
        else:
            _file(character, other.chat, chosen, ())
    scope_files.pass_on(file, begun, {str(one) for one in blocks})


def _above(character: Character, chat: Chat) -> list[tuple[Chat, int]]:
    """The chats that this one branched from, nearest first, each with the last message that both share."""
    found: list[tuple[Chat, int]] = []
    seen, last = {chat.pk}, None
    while (fork := _parent(character, chat)) is not None and fork[0] not in seen and chat.parent is not None:
        last = fork[1] if last is None else min(last, fork[1])
        chat = chat.parent
        seen.add(chat.pk)
        found.append((chat, last))
    return found


def _whose(character: Character, chat: Chat, last: int) -> Chat:
    """The chat in whose own line message `last` lies."""
    return next((one for one, shared in reversed(_above(character, chat)) if last <= shared), chat)


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
