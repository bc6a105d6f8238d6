"""Old memories that a person puts back into the result of a consolidation, as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memories.drafts import DraftEditor
from memories.file_editor import NewMemory
from memories.models import Memory, Proposal


def add_back(editor: DraftEditor, proposal: Proposal, wanted: Sequence[str]) -> dict[str, str]:
    """New bullets with the old words; those of one block stand together again, where that block stood."""
    sources = proposal.report["sources"]
    rows = Memory.objects.for_user(proposal.owner).filter(pk__in=wanted, block__file=proposal.file)
    known = {str(row.pk): row for row in rows.select_related("block")}
    made: dict[str, str] = {}
    for block in dict.fromkeys(sources[one]["block"] for one in wanted):
        own = [one for one in wanted if sources[one]["block"] == block]
        target = _home(editor, sources, block)
        for one in own:
            new = _old(known.get(one), sources[one]["text"], one)
            if target is None:
                target = _block_again(editor, known.get(one), sources[one], new)
                made[one] = editor.rows.bullet_places(target)[-1][2]
            else:
                made[one] = editor.add_memory(target, new)
    return made


def _home(editor: DraftEditor, sources: dict[str, Any], block: str) -> str | None:
    """Where memories of this block already stand: the block itself, or the one that others were put back into."""
    ids = [i for s in sources.values() if s["fate"] == "put_back" and s["block"] == block for i in s["into"]]
    homes = [row["block"] for row in editor.rows.memories(ids).values()]
    return next(iter([*editor.rows.blocks([block]), *homes]), None)


def _old(row: Memory | None, text: str, source: str) -> NewMemory:
    if row is None:
        return NewMemory(text)
    return NewMemory(
        text,
        evidence=row.evidence,
        unverified_names=row.unverified_names,
        doubts=row.doubts,
        is_unverified=row.is_unverified,
        parents=[source],
    )


def _block_again(editor: DraftEditor, row: Memory | None, source: dict[str, Any], new: NewMemory) -> str:
    """A block like the one that the memory stood in, at its old place."""
    block = row.block if row else None
    names = ("origin", "chat_id", "first_index", "last_index", "job_id", "call_id", "prompt_version", "form")
    facts = {name.removesuffix("_id"): getattr(block, name) for name in names} if block else {"origin": "written"}
    places = editor.rows.block_places()
    before = [one for order, _born, one in places if block and order <= block.order]
    made = editor.add_block(source["label"], [new], date=source["date"], after=before[-1] if before else None, **facts)
    assert made is not None  # noqa: S101  a memory of the file has text
    if block and not before and places:
        editor.move_block(made, before=places[0][2])
    return made
