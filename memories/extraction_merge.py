"""Blocks that one job made of the same chat put together (Choices.merge_chunks): one block for each topic."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from jobs.run import JobRun
from memories import date_span
from memories.chosen import choices_for
from memories.file_editor import Editor
from memories.memory_file import change
from memories.models import MemoryBlock, MemoryFile

Alike = list[MemoryBlock]


def merge_blocks(run: JobRun, file: MemoryFile) -> None:
    """In one revision; every memory keeps its evidence. Nothing when it is not wished for, or nothing is alike."""
    rows = file.blocks.filter(job=run.job, is_locked=False).select_related("chat__group", "chat__character")
    alike = _alike(run, list(rows.order_by("order", "created_at", "pk").prefetch_related("memories")))
    if not alike:
        return
    with (
        run.commit(),
        change(file, reason=_("Blocks of one extraction merged"), job=run.job, writes_back=False) as editor,
    ):
        for blocks in alike:
            _merge(editor, blocks)


def _alike(run: JobRun, blocks: Sequence[MemoryBlock]) -> list[Alike]:
    """Blocks of the same chat with the same topic, or without one, where the person wants them merged."""
    wishes: dict[object, bool] = {}
    found: dict[tuple[object, str], Alike] = {}
    for block in blocks:
        if block.chat is None:
            continue
        if block.chat.pk not in wishes:
            wishes[block.chat.pk] = choices_for(run.owner, block.chat.group or block.chat.character).merge_chunks
        if wishes[block.chat.pk]:
            topic = next((one.text.casefold() for one in block.memories.all() if one.is_topic), "")
            found.setdefault((block.chat.pk, topic), []).append(block)
    return [one for one in found.values() if len(one) > 1]


def _merge(editor: Editor, blocks: Alike) -> None:
    first, *others = blocks
    place = first.memories.count()
    for block in others:
        for memory in block.memories.all():
            if not memory.is_topic:  # a block with only its topic left goes by itself
                editor.move_memory(memory.pk, first.pk, place)
                place += 1
    editor.set_block(
        first.pk,
        first_index=min((one.first_index for one in blocks if one.first_index is not None), default=None),
        last_index=max((one.last_index for one in blocks if one.last_index is not None), default=None),
        date=date_span.merge(one.date for one in blocks),
    )
