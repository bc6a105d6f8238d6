"""The state of a memory file as plain data: what a revision keeps, and how rows come back from it.

State: {"layout", "separator", "with_metadata", "loose_text": [{"before", "text"}], "blocks": [{"id", "label", "date",
"origin", "is_locked", "chat", "first_index", "last_index", "job", "call", "prompt_version", "created_at",
"memories": [{"id", "text", "is_topic", "is_locked", "evidence", "is_unverified", "unverified_names", "duplicate_of",
"is_source_changed", "created_at"}]}]}. Ids are strings, times ISO 8601.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobs.models import Job
from memories.blocks import Block, Document, Format, Loose, serialize
from memories.models import Memory, MemoryBlock, MemoryFile
from providers.models import Call
from sync.models import Chat

ORDER = ("order", "created_at", "pk")
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
    return list(file.blocks.order_by(*ORDER).prefetch_related("memories"))


def format_of(file: MemoryFile) -> Format:
    return Format(file.layout, file.separator, file.with_metadata)


def dump(file: MemoryFile) -> dict[str, Any]:
    """The whole state as JSON-ready data: two queries, no row objects, because every change of a file needs it."""
    state: dict[str, Any] = {name: getattr(file, name) for name in FILE_FIELDS}
    bullets: defaultdict[uuid.UUID, list[dict[str, Any]]] = defaultdict(list)
    memories = Memory.objects.for_user(file.owner).filter(block__file=file).order_by("order", "created_at")
    for row in memories.values("block_id", "id", "created_at", "duplicate_of_id", *MEMORY_FIELDS):
        bullets[row.pop("block_id")].append(_plain(row, "duplicate_of"))
    links = (f"{name}_id" for name in BLOCK_LINKS)
    blocks = file.blocks.order_by(*ORDER).values("id", "created_at", *links, *BLOCK_FIELDS)
    state["blocks"] = [{**_plain(row, *BLOCK_LINKS), "memories": bullets[row["id"]]} for row in blocks]
    return state


def extended(
    before: dict[str, Any], file: MemoryFile, new: Iterable[tuple[MemoryBlock, list[Memory]]]
) -> dict[str, Any]:
    """The state `before` with blocks appended to it."""
    state = {**before, **{name: getattr(file, name) for name in FILE_FIELDS}}
    state["blocks"] = [*before["blocks"], *(_dump_block(block, memories) for block, memories in new)]
    return state


def without_change(before: dict[str, Any], after: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
    """The state `now` without the change from `before` to `after`; None unless only blocks were appended since."""
    count = len(after["blocks"])
    is_same_form = all(after[name] == now[name] for name in FILE_FIELDS)
    if not is_same_form or after["blocks"] != now["blocks"][:count]:
        return None
    return {**before, "blocks": [*before["blocks"], *now["blocks"][count:]]}


def _dump_block(block: MemoryBlock, memories: Iterable[Memory]) -> dict[str, Any]:
    links = (f"{name}_id" for name in BLOCK_LINKS)
    row = {name: getattr(block, name) for name in ("id", "created_at", *links, *BLOCK_FIELDS)}
    names = ("id", "created_at", "duplicate_of_id", *MEMORY_FIELDS)
    bullets = ({name: getattr(memory, name) for name in names} for memory in memories)
    return {**_plain(row, *BLOCK_LINKS), "memories": [_plain(one, "duplicate_of") for one in bullets]}


def _plain(row: dict[str, Any], *links: str) -> dict[str, Any]:
    """A row's values as JSON has them."""
    plain = {**row, "id": str(row["id"]), "created_at": row["created_at"].isoformat()}
    for name in links:
        value = plain.pop(f"{name}_id")
        plain[name] = None if value is None else str(value)
    return plain


def document_of(state: dict[str, Any]) -> Document:
    """The file as text parts; blocks without bullets are not written (they would vanish on reading)."""
    kept = [block for block in state["blocks"] if block["memories"]]
    places = {block["id"]: number for number, block in enumerate(kept)}
    gaps: dict[int | None, str] = {}
    for one in state["loose_text"]:
        place = places.get(str(one["before"]))
        gaps[place] = gaps.get(place, "") + one["text"]
    in_order = sorted(gaps, key=lambda place: len(kept) if place is None else place)
    blocks = (Block(one["label"], one["date"], tuple(m["text"] for m in one["memories"])) for one in kept)
    return Document(tuple(blocks), tuple(Loose(place, gaps[place]) for place in in_order))


def text_of(state: dict[str, Any]) -> str:
    """The file's text in that state."""
    form = Format(state["layout"], state["separator"], state["with_metadata"])
    return serialize(document_of(state), form)


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
