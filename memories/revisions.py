"""How revisions are kept: each block's content once, and per revision a list of which contents it had.

The state of a revision is a manifest {"layout", "separator", "with_metadata", "loose_text", "blocks": [[block id, id of
a RevisionText], …]}; the text of each block is its JSON (memories/file_state.py). Revisions of earlier times hold whole
blocks instead and are read all the same.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from memories import file_state
from memories.models import MemoryFile, Revision, RevisionText

AT_ONCE = 500
LATER_FIELDS: dict[str, Any] = {"form": None}  # what states of earlier times lack
LATER_MEMORY_FIELDS: dict[str, Any] = {"parents": [], "doubts": []}

Manifest = dict[str, Any]


def revision_text(revision: Revision) -> str:
    """The file's text at that revision, byte for byte."""
    if revision.text is not None:
        return unpack(revision.text.data)
    return file_state.text_of(revision_state(revision))


def revision_state(revision: Revision) -> dict[str, Any]:
    """The blocks and their provenance at that revision (memories/file_state.py)."""
    return state_of(revision.file, manifest_of(revision))


def manifest_of(revision: Revision) -> Manifest:
    """What the revision keeps; its blocks are pairs, or dicts in one of earlier times."""
    return read_json(revision.state)


def read_json(row: RevisionText) -> Any:
    """A value as it was kept."""
    return json.loads(unpack(row.data))


def state_of(file: MemoryFile, manifest: Manifest) -> dict[str, Any]:
    """The whole state that a manifest stands for."""
    pairs = [one[1] for one in manifest["blocks"] if not isinstance(one, dict)]
    known = read_blocks(file, pairs)
    return {
        **manifest,
        "blocks": [full_block(one) if isinstance(one, dict) else known[one[1]] for one in manifest["blocks"]],
    }


def read_blocks(file: MemoryFile, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The blocks with these contents, by the id of the content."""
    wanted = list(dict.fromkeys(ids))
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(wanted), AT_ONCE):
        rows = RevisionText.objects.for_user(file.owner).filter(pk__in=wanted[start : start + AT_ONCE])
        found |= {pk: full_block(json.loads(unpack(data))) for pk, data in rows.values_list("pk", "data")}
    return found


def contents(manifest: Manifest) -> dict[str, Any]:
    """Block id → something that is equal when the content is."""
    return {
        one["id"] if isinstance(one, dict) else one[0]: full_block(one) if isinstance(one, dict) else one[1]
        for one in manifest["blocks"]
    }


def changed_blocks(
    file: MemoryFile, before: Manifest, after: Manifest
) -> dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """The blocks in which two states differ: id → (before, after), None where a state has no such block."""
    old, new = contents(before), contents(after)
    if any(isinstance(one, dict) for one in (*old.values(), *new.values())):
        old, new = ({one["id"]: one for one in state_of(file, part)["blocks"]} for part in (before, after))
    names = [one for one in {**old, **new} if old.get(one) != new.get(one)]
    known = read_blocks(file, [part[one] for one in names for part in (old, new) if isinstance(part.get(one), int)])
    return {one: (_block(known, old.get(one)), _block(known, new.get(one))) for one in names}


def store(
    file: MemoryFile, before: Manifest | None, touched: set[str] | None, appended: list[str] | None
) -> tuple[int, int]:
    """Keep the file's state as it is now: (id of the manifest, number of blocks).

    `touched` are the blocks that changed since `before`; all are read when one of the two is None. `appended` are those
    that came at the end; None when other blocks came, went or moved.
    """
    known = contents(before) if before is not None and touched is not None else {}
    order = _order(file, known, appended)
    known = {one: kept for one, kept in known.items() if isinstance(kept, int)}
    anew = [one for one in order if one not in known or one in (touched or ())]
    dumped = file_state.dump_blocks(file, None if len(anew) == len(order) else anew)
    ids = pack(file, [to_json(one) for one in dumped])
    fresh = dict(zip([one["id"] for one in dumped], ids, strict=True))
    manifest = {name: getattr(file, name) for name in file_state.FILE_FIELDS}
    manifest["blocks"] = [[one, fresh.get(one) or known[one]] for one in order]
    return pack_json(file, manifest), len(order)


def _order(file: MemoryFile, known: dict[str, Any], appended: list[str] | None) -> list[str]:
    """The blocks in file order: as before with those behind, when that is all that happened."""
    if known and appended is not None:
        order = [*known, *appended]
        if len(order) == file.blocks.count():
            return order
    return [str(pk) for pk in file.blocks.order_by(*file_state.ORDER).values_list("pk", flat=True)]


def pack_json(file: MemoryFile, value: Any) -> int:
    """Keep a value; the id of its text."""
    return pack(file, [to_json(value)])[0]


def to_json(value: Any) -> str:
    """The one way in which equal values are written, so that they are stored once."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def pack(file: MemoryFile, texts: Sequence[str]) -> list[int]:
    """The ids of these texts; equal text is stored once per person."""
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    digests = [hashlib.sha256(one).hexdigest() for one in data]
    rows = {
        digest: RevisionText(owner_id=file.owner_id, digest=digest, data=zlib.compress(one, 1))
        for digest, one in zip(digests, data, strict=True)
    }
    made = RevisionText.objects.bulk_create(
        rows.values(),
        batch_size=AT_ONCE,
        update_conflicts=True,  # nothing is different then; it has the database tell the row's id
        unique_fields=["owner", "digest"],
        update_fields=["digest"],
    )
    ids = {row.digest: row.pk for row in made}
    return [ids[digest] for digest in digests]


def unpack(data: bytes | memoryview) -> str:
    """A text as it was packed."""
    return zlib.decompress(bytes(data)).decode("utf-8", "surrogatepass")


def _block(known: dict[int, dict[str, Any]], content: Any) -> dict[str, Any] | None:
    block: dict[str, Any] | None = known[content] if isinstance(content, int) else content
    return block


def full_block(block: dict[str, Any]) -> dict[str, Any]:
    """A block of any time with the fields of today."""
    memories = [{**LATER_MEMORY_FIELDS, **one} for one in block["memories"]]
    return {**LATER_FIELDS, **block, "memories": memories}
