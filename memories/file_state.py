"""The state of a memory file as plain data: what a revision keeps, and how rows come back from it.

State: {"layout", "separator", "with_metadata", "loose_text": [{"before", "text"}], "blocks": [{"id", "label", "date",
"origin", "is_locked", "chat", "first_index", "last_index", "job", "call", "prompt_version", "form", "created_at",
"memories": [{"id", "text", "is_topic", "is_locked", "evidence", "parents", "is_unverified", "unverified_names",
"doubts", "duplicate_of", "is_source_changed", "created_at"}]}]}. Ids are strings, times ISO 8601.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from memories.blocks import Block, Document, Format, Loose, serialize, serialize_block
from memories.models import Memory, MemoryBlock, MemoryFile
from providers.models import Call
from sync.models import Chat

AT_ONCE = 500
FILES_AT_ONCE = 100
ORDER = ("order", "created_at", "pk")
FILE_FIELDS = ("layout", "separator", "with_metadata", "loose_text")
BLOCK_FIELDS = ("label", "date", "origin", "is_locked", "first_index", "last_index", "prompt_version", "form")
BLOCK_LINKS: dict[str, Any] = {"chat": Chat, "job": Job, "call": Call}
MEMORY_FIELDS = (
    "text",
    "is_topic",
    "is_locked",
    "evidence",
    "parents",
    "is_unverified",
    "unverified_names",
    "doubts",
    "is_source_changed",
)
UNMARKED = {"is_source_changed": False, "duplicate_of": None}


def blocks_of(file: MemoryFile) -> list[MemoryBlock]:
    """The blocks in file order, each with its memories prefetched in order."""
    return list(file.blocks.order_by(*ORDER).prefetch_related("memories"))


def format_of(file: MemoryFile) -> Format:
    return Format(file.layout, file.separator, file.with_metadata)


def dump(file: MemoryFile) -> dict[str, Any]:
    """The whole state as JSON-ready data: two queries, no row objects, because every change of a file needs it."""
    return {**{name: getattr(file, name) for name in FILE_FIELDS}, "blocks": dump_blocks(file)}


def dump_all(user: User, files: Sequence[MemoryFile]) -> dict[uuid.UUID, dict[str, Any]]:
    """The states of many files of one person, by their ids: two queries for a hundred files."""
    found = {file.pk: {**{name: getattr(file, name) for name in FILE_FIELDS}, "blocks": []} for file in files}
    ids = list(found)
    for start in range(0, len(ids), FILES_AT_ONCE):
        part = ids[start : start + FILES_AT_ONCE]
        rows = MemoryBlock.objects.for_user(user).filter(file__in=part)
        for file_id, block in _dumped(user, rows, Q(block__file__in=part)):
            found[file_id]["blocks"].append(block)
    return found


def dump_blocks(file: MemoryFile, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The blocks in file order; only those with these ids when given."""
    if ids is None:
        return _dump_blocks(file, file.blocks.all(), Q())
    found = []
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        found += _dump_blocks(file, file.blocks.filter(pk__in=part), Q(block__in=part))
    return found


def _dump_blocks(file: MemoryFile, rows: QuerySet[MemoryBlock], of_these: Q) -> list[dict[str, Any]]:
    return [block for _file, block in _dumped(file.owner, rows, of_these & Q(block__file=file))]


def _dumped(user: User, rows: QuerySet[MemoryBlock], of_these: Q) -> Iterator[tuple[uuid.UUID, dict[str, Any]]]:
    """The blocks with their memories, each with the id of its file."""
    bullets: defaultdict[uuid.UUID, list[dict[str, Any]]] = defaultdict(list)
    memories = Memory.objects.for_user(user).filter(of_these).order_by("order", "created_at")
    for row in memories.values("block_id", "id", "created_at", "duplicate_of_id", *MEMORY_FIELDS):
        bullets[row.pop("block_id")].append(plain(row, "duplicate_of"))
    links = (f"{name}_id" for name in BLOCK_LINKS)
    blocks = rows.order_by(*ORDER).values("file_id", "id", "created_at", *links, *BLOCK_FIELDS)
    for row in blocks:
        yield row.pop("file_id"), {**plain(row, *BLOCK_LINKS), "memories": bullets[row["id"]]}


def without_change(before: dict[str, Any], after: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
    """The state `now` without the change from `before` to `after`; None unless only blocks were appended since."""
    count = len(after["blocks"])
    is_same_form = all(after[name] == now[name] for name in FILE_FIELDS)
    if not is_same_form or told(after["blocks"]) != told(now["blocks"][:count]):
        return None
    return {**before, "blocks": [*before["blocks"], *now["blocks"][count:]]}


def told(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks without the marks that CharMem sets and clears by itself: no change of the file."""
    return [{**one, "memories": [{**m, **UNMARKED} for m in one["memories"]]} for one in blocks]


def plain(row: dict[str, Any], *links: str) -> dict[str, Any]:
    """A row's values as JSON has them; the columns of `links` go by the names of their relations."""
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
    """The file's text in that state. A block that kept an earlier layout of the file is written in that one."""
    form = Format(state["layout"], state["separator"], state["with_metadata"])
    own = {n: _own_form(one) for n, one in enumerate(one for one in state["blocks"] if one["memories"]) if one["form"]}
    document = document_of(state)
    return _mixed(document, form, own) if own else serialize(document, form)


def own_forms(blocks: Iterable[MemoryBlock]) -> set[Format]:
    """The earlier layouts that some of these blocks have kept."""
    return {_own_form({"form": block.form}) for block in blocks if block.form}


def _own_form(block: dict[str, Any]) -> Format:
    form = block["form"]
    return Format(form["layout"], form.get("separator", "\n\n"), bool(form.get("metadata")))


def _mixed(document: Document, form: Format, own: dict[int, Format]) -> str:
    """Between two blocks stands what the layout of the second one puts there."""
    gaps = {loose.before: loose.text for loose in document.loose}
    parts: list[str] = []
    for number, block in enumerate(document.blocks):
        its = own.get(number, form)
        parts.append(gaps.get(number, its.between_blocks if number else ""))
        parts.append(serialize_block(block, its))
    return "".join([*parts, gaps.get(None, "")])


def load(file: MemoryFile, state: dict[str, Any], before: dict[str, Any]) -> set[str]:
    """Replace the file's rows by those of `state`, with their old ids; `before` is what they are now (`dump`).

    Blocks that stay the same are left alone. Gives the ids of the others. Call inside a transaction; saves nothing else
    of the file than its layout fields. Links to rows that are gone become empty.
    """
    for name in FILE_FIELDS:
        setattr(file, name, state[name])
    present = {block["id"]: block for block in before["blocks"]}
    wanted = {block["id"]: block for block in state["blocks"]}
    gone = [one for one, block in present.items() if wanted.get(one) != block]
    for start in range(0, len(gone), AT_ONCE):
        file.blocks.filter(pk__in=gone[start : start + AT_ONCE]).delete()
    anew = {one for one, block in wanted.items() if present.get(one) != block}
    _create(file, state, anew)
    _put_in_order(file, list(wanted))
    return {*gone, *anew}


def _create(file: MemoryFile, state: dict[str, Any], anew: set[str]) -> None:
    """Make the rows of these blocks; creation times are automatic on insert, so they are put back afterwards."""
    chosen = [(order, data) for order, data in enumerate(state["blocks"]) if data["id"] in anew]
    links = {name: _present(file, name, [data for _order, data in chosen]) for name in BLOCK_LINKS}
    blocks, memories, births = [], [], {}
    for order, data in chosen:
        fields = {name: data[name] for name in BLOCK_FIELDS}
        fields |= {f"{name}_id": data[name] if data[name] in known else None for name, known in links.items()}
        blocks.append(MemoryBlock(pk=data["id"], file=file, order=order, **fields))
        births[data["id"]] = data["created_at"]
        memories += [_memory_row(data["id"], place, one) for place, one in enumerate(data["memories"])]
        births |= {one["id"]: one["created_at"] for one in data["memories"]}
    MemoryBlock.objects.bulk_create(blocks, batch_size=200)
    Memory.objects.bulk_create(memories, batch_size=200)
    _restore_births(blocks, memories, births)
    _relink_duplicates(file, state, {str(memory.pk) for memory in memories})


def _put_in_order(file: MemoryFile, ids: list[str]) -> None:
    """Give the blocks their places; rows that rise already are left alone."""
    rows = {str(block.pk): block for block in file.blocks.order_by().only("pk", "order")}
    orders = [rows[one].order for one in ids]
    if all(low < high for low, high in pairwise(orders)):
        return
    moved = []
    for place, one in enumerate(ids):
        if rows[one].order != place:
            rows[one].order = place
            moved.append(rows[one])
    with unscoped("blocks of the file in hand"):
        MemoryBlock.objects.bulk_update(moved, ["order"], batch_size=200)


def _present(file: MemoryFile, name: str, blocks: list[dict[str, Any]]) -> set[str]:
    wanted = {data[name] for data in blocks if data[name]}
    rows = BLOCK_LINKS[name].objects.for_user(file.owner).filter(pk__in=wanted)
    return {str(pk) for pk in rows.values_list("pk", flat=True)} if wanted else set()


def _memory_row(block_id: str, order: int, data: dict[str, Any]) -> Memory:
    return Memory(pk=data["id"], block_id=block_id, order=order, **{name: data[name] for name in MEMORY_FIELDS})


def _restore_births(blocks: list[MemoryBlock], memories: list[Memory], births: dict[str, str]) -> None:
    for block in blocks:
        block.created_at = datetime.fromisoformat(births[str(block.pk)])
    for memory in memories:
        memory.created_at = datetime.fromisoformat(births[str(memory.pk)])
    with unscoped("rows that were made just now"):  # by their keys alone: a join makes PostgreSQL read all rows
        MemoryBlock.objects.bulk_update(blocks, ["created_at"], batch_size=200)
        Memory.objects.bulk_update(memories, ["created_at"], batch_size=200)


def _relink_duplicates(file: MemoryFile, state: dict[str, Any], anew: set[str]) -> None:
    """Put back the links from and to rows that were made anew."""
    present = {one["id"] for data in state["blocks"] for one in data["memories"]}
    for data in state["blocks"]:
        for one in data["memories"]:
            if one["duplicate_of"] in present and anew & {one["id"], one["duplicate_of"]}:
                rows = Memory.objects.for_user(file.owner).filter(pk=one["id"])
                rows.update(duplicate_of_id=one["duplicate_of"])
