"""Copying the memories of one file into another: merged without exact repetitions, or in place of what is there.

A block repeats when label, date and bullets in order are the same (spec/charmemory §5.4). Each copy is one revision.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import User
from memories import file_state
from memories.file_editor import NewMemory
from memories.memory_file import change
from memories.models import MemoryBlock, MemoryFile, Revision

MERGE, REPLACE = "merge", "replace"
Key = tuple[str, str, tuple[str, ...]]  # label, date, bullets


@dataclass(frozen=True)
class Copied:
    """What a copy did. `revision` is None when everything was there already."""

    revision: Revision | None
    added: int
    skipped: int


def copy(user: User, source: MemoryFile, target: MemoryFile, *, mode: str = MERGE) -> Copied:
    """Copy all blocks of `source` into `target`; the source stays as it is. ValueError with a finished sentence."""
    if user.pk not in (source.owner_id,) or source.owner_id != target.owner_id:
        raise PermissionError("memories are copied between files of one person only")
    if source.pk == target.pk:
        raise ValueError(_("Choose another file to copy from; nothing was copied."))
    blocks = [block for block in file_state.blocks_of(source) if block.memories.all()]
    if not blocks:
        raise ValueError(_("%(name)s holds no memories. Nothing was copied.") % {"name": source.name})
    reason = _("Copied from %(name)s") if mode == MERGE else _("Replaced by %(name)s")
    with change(target, reason=reason % {"name": source.name}, author=user) as editor:
        present = file_state.blocks_of(target)
        known = set() if mode == REPLACE else {_key(block) for block in present}
        for block in present if mode == REPLACE else ():
            editor.delete_block(block.pk)
        new = blocks if mode == REPLACE else _unseen(blocks, known)
        for block in new:
            editor.add_block(block.label, _bullets(block), date=block.date, origin=block.origin, **_facts(block))
    revision = target.revisions.get(number=target.version) if editor.is_changed else None
    return Copied(revision, len(new), len(blocks) - len(new))


def _unseen(blocks: list[MemoryBlock], known: set[Key]) -> list[MemoryBlock]:
    """Those that the target does not have yet, each of several equal ones once."""
    first: dict[Key, MemoryBlock] = {}
    for block in blocks:
        first.setdefault(_key(block), block)
    return [block for key, block in first.items() if key not in known]


def _key(block: MemoryBlock) -> Key:
    return block.label, block.date, tuple(memory.text for memory in block.memories.all())


def _bullets(block: MemoryBlock) -> list[NewMemory]:
    return [
        NewMemory(
            one.text, one.evidence, one.unverified_names, one.is_unverified, parents=one.parents, doubts=one.doubts
        )
        for one in block.memories.all()
    ]


def _facts(block: MemoryBlock) -> dict[str, object]:
    """Where the block came from goes along."""
    return {
        "chat": block.chat,
        "first_index": block.first_index,
        "last_index": block.last_index,
        "job": block.job,
        "call": block.call,
        "prompt_version": block.prompt_version,
    }
