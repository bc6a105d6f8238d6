"""Everything about a character's memories as JSON: text, evidence, what bullets replaced, own prompts, history.

{"format": "charmem-export", "version": 1, "made_at", "by", "prompts": [prompt], "characters": [character]}
character: {"id", "name", "avatar", "files": [file]}
file: {"id", "name", "chat": link or null, "layout", "separator", "with_metadata", "loose_text", "blocks": [block],
"ancestors": [ancestor], "revisions": [revision] when asked for}
block: as memories/file_state.py has it, with its chat as a link and the name of its model
link: {"name", "integrity"} finds a chat again in another installation, where ids differ
prompt: {"name", "title", "avatar": "" or of the character it is for, "text", "base_version"}
Read back by memories/importing_export_read.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from accounts.models import User
from memories import file_state, revisions
from memories.models import Ancestor, MemoryFile, PromptOverride
from providers.models import Call
from sync.models import Character, Chat

FORMAT = "charmem-export"
VERSION = 1


def characters_with_memories(user: User) -> list[Character]:
    """The characters that have a memory file, by name."""
    rows = Character.objects.for_user(user).filter(memory_files__isnull=False).distinct()
    return list(rows.select_related("tavern").order_by("name", "pk"))


def files_of(user: User, character: Character) -> list[MemoryFile]:
    """The character's own file first, then those of single chats."""
    rows = MemoryFile.objects.for_user(user).filter(character=character).select_related("chat", "owner", "character")
    return sorted(rows, key=lambda file: (file.chat is not None, file.created_at, str(file.pk)))


def as_json(
    user: User, characters: Iterable[Character], *, made_at: datetime, with_history: bool = False
) -> Iterator[str]:
    """The export in pieces, one character at a time, so that a large one does not stand in memory as a whole."""
    chosen = list(characters)
    head = {"format": FORMAT, "version": VERSION, "made_at": made_at.isoformat(), "by": user.name}
    head["prompts"] = _prompts(user, chosen)
    yield f'{_json(head)[:-2]},\n "characters": ['
    for number, character in enumerate(chosen):
        yield ",\n" if number else "\n"
        yield _json(_character(user, character, with_history))
    yield "\n ]\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=False)


def _character(user: User, character: Character, with_history: bool) -> dict[str, Any]:
    files = [_file(user, file, with_history) for file in files_of(user, character)]
    return {"id": str(character.pk), "name": character.name, "avatar": character.avatar, "files": files}


def _file(user: User, file: MemoryFile, with_history: bool) -> dict[str, Any]:
    state = file_state.dump(file)
    blocks = state.pop("blocks")
    links, models = _links(user, file, blocks), _models(user, blocks)
    found: dict[str, Any] = {"id": str(file.pk), "name": file.name, "chat": _link(file.chat), **state}
    found["blocks"] = [
        {**block, "chat": links.get(str(block["chat"])), "model": models.get(str(block["call"]), "")}
        for block in blocks
    ]
    found["ancestors"] = [_ancestor(row) for row in file.ancestors.select_related("chat").order_by("replaced_at", "pk")]
    if with_history:
        rows = file.revisions.select_related("author", "text", "state").order_by("number")
        found["revisions"] = [_revision(row) for row in rows.iterator(50)]
    return found


def _links(user: User, file: MemoryFile, blocks: list[dict[str, Any]]) -> dict[str, dict[str, str] | None]:
    wanted = {block["chat"] for block in blocks if block["chat"]}
    rows = Chat.objects.for_user(user).filter(tavern=file.character.tavern_id).only("pk", "name", "integrity")
    return {str(chat.pk): _link(chat) for chat in rows if str(chat.pk) in wanted}


def _models(user: User, blocks: list[dict[str, Any]]) -> dict[str, str]:
    wanted = sorted({block["call"] for block in blocks if block["call"]})
    found: dict[str, str] = {}
    for start in range(0, len(wanted), 500):
        rows = Call.objects.for_user(user).filter(pk__in=wanted[start : start + 500]).values_list("pk", "model")
        found |= {str(pk): model for pk, model in rows}
    return found


def _link(chat: Chat | None) -> dict[str, str] | None:
    return None if chat is None else {"name": chat.name, "integrity": chat.integrity}


def _ancestor(row: Ancestor) -> dict[str, Any]:
    return {
        "memory": str(row.memory),
        "digest": row.digest,
        "text": row.text,
        "evidence": row.evidence,
        "parents": row.parents,
        "facts": row.facts,
        "chat": _link(row.chat),
        "replaced_at": row.replaced_at.isoformat(),
    }


def _revision(row: Any) -> dict[str, Any]:
    """History is there to be read: it is not imported, the import is a revision of its own."""
    return {
        "number": row.number,
        "reason": row.reason,
        "at": row.created_at.isoformat(),
        "author": row.author.name if row.author else "",
        "text": revisions.revision_text(row),
    }


def _prompts(user: User, characters: list[Character]) -> list[dict[str, str]]:
    """Own texts that are in force: those for everything, and those of these characters."""
    rows = PromptOverride.objects.for_user(user).filter(is_active=True).select_related("character")
    ids = {character.pk for character in characters}
    return [
        {
            "name": row.name,
            "title": row.title,
            "avatar": row.character.avatar if row.character else "",
            "text": row.text,
            "base_version": row.base_version,
        }
        for row in rows.order_by("name", "number")
        if row.character_id is None or row.character_id in ids
    ]
