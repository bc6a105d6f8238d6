"""Bullets that others replaced are kept, so that evidence survives any number of rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from memories.models import Ancestor, Memory, MemoryBlock, MemoryFile


def keep(file: MemoryFile, memories: Iterable[Memory]) -> None:
    """Keep these bullets as they stand; one that was kept in this wording already stays as it is.

    Give rows with their block, its chat and its call at hand (`select_related("block__chat", "block__call")`).
    """
    rows = [_row(file, memory) for memory in memories]
    Ancestor.objects.bulk_create(rows, ignore_conflicts=True, batch_size=200)


def keep_by_id(file: MemoryFile, ids: Iterable[str]) -> None:
    """Keep the bullets of the file with these ids, as far as it has them. Call before they are deleted."""
    wanted = list(ids)
    for start in range(0, len(wanted), 500):
        rows = Memory.objects.for_user(file.owner).filter(block__file=file, pk__in=wanted[start : start + 500])
        keep(file, rows.select_related("block__chat", "block__call"))


def facts_of(block: MemoryBlock) -> dict[str, Any]:
    """Where the bullets of a block came from, in words that outlive the block; its chat and call at hand."""
    return {
        "label": block.label,
        "date": block.date,
        "origin": block.origin,
        "chat_name": block.chat.name if block.chat else "",
        "first_index": block.first_index,
        "last_index": block.last_index,
        "model": block.call.model if block.call else "",
        "prompt_version": block.prompt_version,
    }


def _row(file: MemoryFile, memory: Memory) -> Ancestor:
    block = memory.block
    return Ancestor(
        owner_id=file.owner_id,
        file=file,
        memory=memory.pk,
        digest=hashlib.sha256(memory.text.encode("utf-8", "surrogatepass")).hexdigest(),
        text=memory.text,
        evidence=memory.evidence,
        parents=memory.parents,
        facts=facts_of(block),
        chat_id=block.chat_id,
        job_id=block.job_id,
        call_id=block.call_id,
    )
