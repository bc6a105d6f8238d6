"""The state of a memory file as plain data: what a revision keeps, and how rows come back from it.

State: {"layout", "separator", "with_metadata", "loose_text": [{"before", "text"}], "blocks": [{"id", "label", "date",
"origin", "is_locked", "chat", "first_index", "last_index", "job", "call", "prompt_version", "created_at",
"memories": [{"id", "text", "is_topic", "is_locked", "evidence", "is_unverified", "unverified_names", "duplicate_of",
"is_source_changed", "created_at"}]}]}. Ids are strings, times ISO 8601.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobs.models import Job
from memories.blocks import Block, Document, Format, Loose, serialize
from memories.models import Memory, MemoryBlock, MemoryFile
from providers.models import Call
from sync.models import Chat

FILE_FIELDS = ("layout", "separator", "with_metadata", "loose_text")
BLOCK_FIELDS = ("label", "date", "origin", "is_locked", "first_index", "last_index", "prompt_version")
BLOCK_LINKS: dict[str, Any] = {"chat": Chat, "job": Job, "call": Call}
MEMORY_FIELDS = (
    "text",
    "is_topic",
    "is_locked",
    "evidence",
    "is_unverified",
    "unverified_names",
    "is_source_changed",
)


def blocks_of(file: MemoryFile) -> list[MemoryBlock]:
    """The blocks in file order, each with its memories prefetched in order."""
    return list(file.blocks.order_by("order", "created_at", "pk").prefetch_related("memories"))


def format_of(file: MemoryFile) -> Format:
    return Format(file.layout, file.separator, file.with_metadata)


def document_of(file: MemoryFile, blocks: Iterable[MemoryBlock]) -> Document:
    """The file as text parts; blocks without bullets are not written (they would vanish on reading)."""
    rows = [(row, tuple(m.text for m in row.memories.all())) for row in blocks]
    kept = [(row, bullets) for row, bullets in rows if bullets]
    places = {str(row.pk): number for number, (row, _bullets) in enumerate(kept)}
    gaps: dict[int | None, str] = {}
    for one in file.loose_text:
        place = places.get(str(one["before"]))
        gaps[place] = gaps.get(place, "") + one["text"]
    in_order = sorted(gaps, key=lambda place: len(kept) if place is None else place)
    loose = tuple(Loose(place, gaps[place]) for place in in_order)
    return Document(tuple(Block(row.label, row.date, bullets) for row, bullets in kept), loose)


def text_of(file: MemoryFile, blocks: Iterable[MemoryBlock]) -> str:
    return serialize(document_of(file, blocks), format_of(file))


def dump(file: MemoryFile, blocks: Iterable[MemoryBlock]) -> dict[str, Any]:
    """The whole state as JSON-ready data."""
    state: dict[str, Any] = {name: getattr(file, name) for name in FILE_FIELDS}
    state["blocks"] = [_dump_block(block) for block in blocks]
    return state


def _dump_block(block: MemoryBlock) -> dict[str, Any]:
    data: dict[str, Any] = {"id": str(block.pk), "created_at": block.created_at.isoformat()}
    data |= {name: getattr(block, name) for name in BLOCK_FIELDS}
    data |= {name: _text_or_none(getattr(block, f"{name}_id")) for name in BLOCK_LINKS}
    data["memories"] = [_dump_memory(memory) for memory in block.memories.all()]
    return data


def _dump_memory(memory: Memory) -> dict[str, Any]:
    data: dict[str, Any] = {"id": str(memory.pk), "created_at": memory.created_at.isoformat()}
    data |= {name: getattr(memory, name) for name in MEMORY_FIELDS}
    return data | {"duplicate_of": _text_or_none(memory.duplicate_of_id)}


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def load(file: MemoryFile, state: dict[str, Any]) -> None:
    """Replace the file's rows by those of `state`, with their old ids. Call inside a transaction; saves nothing else
    of the file than its layout fields. Links to rows that are gone become empty."""
    for name in FILE_FIELDS:
        setattr(file, name, state[name])
    file.blocks.all().delete()
    links = {name: _present(file, name, state["blocks"]) for name in BLOCK_LINKS}
    blocks, memories, births = [], [], {}
    for order, data in enumerate(state["blocks"]):
        fields = {name: data[name] for name in BLOCK_FIELDS}
        fields |= {f"{name}_id": data[name] if data[name] in known else None for name, known in links.items()}
        blocks.append(MemoryBlock(pk=data["id"], file=file, order=order, **fields))
        births[data["id"]] = data["created_at"]
        memories += [_memory_row(data["id"], place, one) for place, one in enumerate(data["memories"])]
        births |= {one["id"]: one["created_at"] for one in data["memories"]}
    MemoryBlock.objects.bulk_create(blocks, batch_size=200)
    Memory.objects.bulk_create(memories, batch_size=200)
    _restore_births(file, blocks, memories, births)
    _relink_duplicates(file, state)


def _present(file: MemoryFile, name: str, blocks: list[dict[str, Any]]) -> set[str]:
    wanted = {data[name] for data in blocks if data[name]}
    rows = BLOCK_LINKS[name].objects.for_user(file.owner).filter(pk__in=wanted)
    return {str(pk) for pk in rows.values_list("pk", flat=True)} if wanted else set()


def _memory_row(block_id: str, order: int, data: dict[str, Any]) -> Memory:
    return Memory(pk=data["id"], block_id=block_id, order=order, **{name: data[name] for name in MEMORY_FIELDS})


def _restore_births(
    file: MemoryFile, blocks: list[MemoryBlock], memories: list[Memory], births: dict[str, str]
) -> None:
    """Creation times are automatic on insert, so they are put back afterwards."""
    for block in blocks:
        block.created_at = datetime.fromisoformat(births[str(block.pk)])
    for memory in memories:
        memory.created_at = datetime.fromisoformat(births[str(memory.pk)])
    file.blocks.all().bulk_update(blocks, ["created_at"], batch_size=200)
    Memory.objects.for_user(file.owner).bulk_update(memories, ["created_at"], batch_size=200)


def _relink_duplicates(file: MemoryFile, state: dict[str, Any]) -> None:
    present = {one["id"] for data in state["blocks"] for one in data["memories"]}
    for data in state["blocks"]:
        for one in data["memories"]:
            if one["duplicate_of"] in present:
                rows = Memory.objects.for_user(file.owner).filter(pk=one["id"])
                rows.update(duplicate_of_id=one["duplicate_of"])
