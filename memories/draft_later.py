"""What an edit did with rows that the file changed or lost after the edit had seen them, later than its beginning.

An edit that goes on while the file moves on shows the file's newest state, so its changes may be made on rows that the
version it began from does not know, or knows otherwise. Each change says what it found (`before`); where the file says
something else now, the newest revision that still had it is the base of the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from memories import revisions
from memories.draft_overlay import Fields, Overlay, RowChange
from memories.draft_rows import DraftRows
from memories.merge import Block
from memories.models import MemoryFile


@dataclass
class Later:
    """`bases`: blocks as the edit saw them. `gone`: bullets that the edit changes and the file lost, as they were."""

    bases: dict[str, Block] = field(default_factory=dict)
    gone: dict[str, Fields] = field(default_factory=dict)


def later(file: MemoryFile, began: int, now: int, overlay: Overlay) -> Later:
    """Compare what the edit found with the file; revisions are read only when they differ."""
    there = DraftRows(file, Overlay())
    found = there.base("memory", overlay.memories)
    missed = {one: change for one, change in overlay.memories.items() if _is_missed(change, found.get(one))}
    homes = {c.after["block"] for c in overlay.memories.values() if c.after and "block" in c.after}
    homes -= {one for one, change in overlay.blocks.items() if change.is_made}
    homes -= set(there.base("block", homes))
    result = Later()
    if missed or homes:
        for block in _earlier_blocks(file, began, now):
            _note(result, block, missed, homes)
    result.gone = {one: row for one, row in result.gone.items() if one not in found}
    return result


def _is_missed(change: RowChange, row: Fields | None) -> bool:
    """Whether the file has other words than the change was made on, or no such bullet any more."""
    if change.before is None:
        return False
    if row is None:
        return change.after is not None
    words = change.before.get("text", row["text"])
    return bool(words != row["text"] and (change.after is None or change.after["text"] != row["text"]))


def _earlier_blocks(file: MemoryFile, began: int, now: int) -> Iterator[Block]:
    """Blocks as they were before each change since the edit began, newest first."""
    rows = file.revisions.select_related("state").filter(number__gte=began, number__lte=now).order_by("-number")
    for after, before in pairwise(revisions.manifest_of(one) for one in rows.iterator(chunk_size=50)):
        changed = revisions.changed_blocks(file, before, after)
        yield from (old for old, _new in changed.values() if old is not None)


def _note(result: Later, block: Block, missed: dict[str, RowChange], homes: Iterable[str]) -> None:
    own = [one for one in block["memories"] if one["id"] in missed and _is_seen(one, missed[one["id"]])]
    own = [one for one in own if one["id"] not in result.gone]
    if not own and block["id"] not in homes:
        return
    base = result.bases.setdefault(block["id"], block)
    known = {one["id"] for one in base["memories"]}
    result.bases[block["id"]] = {
        **base,
        "memories": [*base["memories"], *(one for one in own if one["id"] not in known)],
    }
    result.gone |= {one["id"]: {name: value for name, value in one.items() if name != "id"} for one in own}


def _is_seen(memory: Fields, change: RowChange) -> bool:
    """Whether the bullet is as the edit found it."""
    return bool((change.before or {}).get("text", memory["text"]) == memory["text"])
