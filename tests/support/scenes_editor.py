"""Edits in progress for looking at: one with changes, one that met other changes, and something in the trash."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories import drafts, editing, memory_file, trash_items
from memories.file_state import dump_blocks
from memories.models import Memory, MemoryFile
from sync.models import Character


def add_edits(alice: User, character: Character, other: Character) -> dict[str, Any]:
    """{"edit", "merge": drafts, "edited", "edited_block": rows of the first one}."""
    file = memory_file.file_for(character)
    row = _facts(file)[0]
    edit = drafts.open_edit(alice, file)
    with drafts.step(edit, "Wording: She keeps a burned bookplate") as editor:
        editor.set_text(row.pk, "She keeps a burned bookplate in her left glove: it is Maren’s.")
    with drafts.step(edit, "Locked: Calls Wren") as editor:
        editor.set_memories([_facts(file)[1].pk], is_locked=True)
    with drafts.step(edit, "Added: The seventh stack") as editor:
        editor.add_memory(row.block_id, "The seventh stack floods at spring tide.")
    state = dump_blocks(file, [str(file.blocks.order_by("order")[0].pk)])
    trash_items.add_blocks(file, state, file.version)
    return {"edit": edit, "merge": _met(alice, other), "edited": row, "edited_block": row.block}


def _met(alice: User, character: Character) -> Any:
    """An edit of which one block was reworded and one deleted on the other side."""
    file = memory_file.file_for(character)
    first, second = _facts(file)[0], next(one for one in _facts(file) if one.block_id != _facts(file)[0].block_id)
    edit = drafts.open_edit(alice, file)
    with drafts.step(edit, "Wording: Swore on the lantern") as editor:
        editor.set_text(first.pk, f"{first.text} Wren has not been told.")
    with drafts.step(edit, "Deleted") as editor:
        editor.delete_memories([second.pk])
    editing.edit_memory(alice, first, f"{first.text} Wren has seen it.")
    second.refresh_from_db()
    editing.edit_memory(alice, second, f"{second.text} Since the oath she pours it for Wren.")
    return edit


def _facts(file: MemoryFile) -> list[Memory]:
    """Bullets of the newest blocks first."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, is_topic=False, is_locked=False)
    return list(rows.select_related("block__file__owner").order_by("-block__order", "order")[:40])


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of editing, by the name of their picture."""
    edit, pk = f"/drafts/{scene['edit'].pk}/", scene["edit"].file.character_id
    return {
        "editor": edit,
        "editor-filter": f"{edit}?participant=Wren&order=story",
        "editor-none": f"{edit}?q=nothing+like+that",
        "editor-bullet": f"{edit}memories/{scene['edited'].pk}/edit/",
        "editor-actions": f"{edit}memories/{scene['edited'].pk}/",
        "editor-block": f"{edit}blocks/{scene['edited_block'].pk}/",
        "editor-label": f"{edit}blocks/{scene['edited_block'].pk}/edit/",
        "editor-add": f"{edit}add/",
        "editor-move": f"{edit}move/?memory={scene['edited'].pk}",
        "editor-merge": f"/drafts/{scene['merge'].pk}/merge/",
        "trash": f"/characters/{pk}/trash/",
        "clear": f"/characters/{pk}/clear/",
    }
