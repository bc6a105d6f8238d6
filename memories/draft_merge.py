"""What a memory file and an edit of it did apart from each other: found by comparing revisions, settled as chosen."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memories import revisions
from memories.draft_later import later
from memories.draft_overlay import Fields, Overlay, RowChange, difference
from memories.draft_rows import DraftRows, Place
from memories.file_state import BLOCK_FIELDS, BLOCK_LINKS
from memories.merge import (
    BOTH,
    MINE,
    THEIRS,
    Block,
    MergeBlock,
    added_lines,
    arranged,
    is_conflict,
    is_locked_since,
    merge_block,
)
from memories.models import MemoryFile
from memories.orders import between

SEEN = "seen"  # in Draft.choices: {block id: version of the file that the person saw when choosing}


@dataclass(frozen=True)
class Conflict:
    """One block before, in the edit, and in the file now; None = the side has no such block."""

    base: Block | None
    mine: Block | None
    theirs: Block | None


@dataclass(frozen=True)
class Sides:
    """What changed on both sides. `order` are the blocks as they stood when the edit began, `now` says what the file
    holds (revisions.contents)."""

    conflicts: dict[str, Conflict] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    now: dict[str, Any] = field(default_factory=dict)
    # Bullets that the edit changes and the file has lost, as they were last.
    gone: dict[str, Fields] = field(default_factory=dict)

    def shown(self, block_id: str, choice: str) -> MergeBlock:
        """The block as a person sees it."""
        one = self.conflicts[block_id]
        return merge_block(block_id, one.base, one.mine, one.theirs, choice)


def conflicts_of(file: MemoryFile, began: int, now: int, overlay: Overlay) -> Sides:
    """Compare revision `began` with revision `now`, and both with what the edit did."""
    before, after = _manifest(file, began), _manifest(file, now)
    changed = revisions.changed_blocks(file, before, after)
    rows = DraftRows(file, Overlay())
    conflicts = {}
    for block_id in _touched(overlay, {one: base for one, (base, _theirs) in changed.items()}):
        base, theirs = changed[block_id]
        mine = _mine(block_id, base, overlay, rows)
        if is_conflict(base, mine, theirs) or is_locked_since(base, mine, theirs):
            conflicts[block_id] = Conflict(base, mine, theirs)
    since = later(file, began, now, overlay)
    for block_id, base in since.bases.items():
        theirs = _in_manifest(file, after, block_id)
        mine = _mine(block_id, base, overlay, rows)
        if block_id not in conflicts and is_conflict(base, mine, theirs):
            conflicts[block_id] = Conflict(base, mine, theirs)
    return Sides(conflicts, list(revisions.contents(before)), revisions.contents(after), since.gone)


def choices_in_force(file: MemoryFile, sides: Sides, choices: Mapping[str, Any]) -> dict[str, str]:
    """What a person chose for each block; a choice made before the block changed once more does not count."""
    seen: Mapping[str, int] = choices.get(SEEN, {})
    known = {version: revisions.contents(_manifest(file, version)) for version in set(seen.values())}
    return {
        one: choices[one]
        for one in sides.conflicts
        if one in choices and one in seen and known[seen[one]].get(one) == sides.now.get(one)
    }


def settled(file: MemoryFile, sides: Sides, overlay: Overlay, choices: Mapping[str, str]) -> Overlay:
    """The edit's changes as they apply to the file now, with every conflict decided."""
    result = overlay.copy()
    rows = DraftRows(file, Overlay())
    done: set[str] = set()
    for block_id, conflict in sides.conflicts.items():
        done |= _settle(result, rows, sides, block_id, conflict, choices[block_id])
    _bring_back(result, sides)
    _rearrange(result, rows, done)
    return result


def _bring_back(result: Overlay, sides: Sides) -> None:
    """Bullets that the edit put into another block are there, also when the file has lost them meanwhile."""
    for one, row in sides.gone.items():
        change = result.memories.get(one)
        if change is not None and not change.is_made and change.after and "block" in change.after:
            result.memories[one] = RowChange(None, {**row, **change.after})


def _in_manifest(file: MemoryFile, manifest: revisions.Manifest, block_id: str) -> Block | None:
    """One block of a state."""
    pairs = [one for one in manifest["blocks"] if (one["id"] if isinstance(one, dict) else one[0]) == block_id]
    return next(iter(revisions.state_of(file, {**manifest, "blocks": pairs})["blocks"]), None)


def _manifest(file: MemoryFile, number: int) -> revisions.Manifest:
    found = file.revisions.select_related("state").filter(number__lte=number).first()
    return revisions.manifest_of(found) if found else {"blocks": []}


def _touched(overlay: Overlay, changed: Mapping[str, Block | None]) -> list[str]:
    """Those of the changed blocks that the edit changes too."""
    home = {one["id"]: block_id for block_id, base in changed.items() if base for one in base["memories"]}
    found = {home[one] for one in overlay.memories if one in home} | set(overlay.blocks)
    found |= {change.after["block"] for change in overlay.memories.values() if change.after and "block" in change.after}
    return [one for one in changed if one in found]


def _mine(block_id: str, base: Block | None, overlay: Overlay, rows: DraftRows) -> Block | None:
    """The block as the edit has it."""
    change = overlay.blocks.get(block_id)
    if base is None or (change is not None and change.is_deleted):
        return None
    found = {one["id"]: one for one in base["memories"]}
    coming = [one for one, c in overlay.memories.items() if c.after and c.after.get("block") == block_id]
    elsewhere = rows.base("memory", [one for one in coming if one not in found])
    found |= {one: {**elsewhere.get(one, {}), "id": one} for one in coming if one not in found}
    here: dict[str, Fields] = {}
    moved = []
    for one, row in found.items():
        own = overlay.memories.get(one)
        if own is None:
            here[one] = row
        elif own.after is not None and own.after.get("block", block_id) == block_id:
            here[one] = {**row, **own.after}
            if "behind" in own.after:
                moved.append((own.after["order"], one, own.after["behind"]))
    order = arranged(list(here), moved)
    fields = change.after or {} if change else {}
    return {**base, **fields, "memories": [here[one] for one in order if "text" in here[one]]}


def _settle(result: Overlay, rows: DraftRows, sides: Sides, block_id: str, conflict: Conflict, choice: str) -> set[str]:
    """Decide one block; the ids of the bullets that are in their final places."""
    base, mine, theirs = conflict.base, conflict.mine, conflict.theirs
    leaving = _take_out(result, block_id, base)
    if choice == BOTH and (mine is None or theirs is None):
        choice = THEIRS if mine is None else MINE
    if choice == THEIRS:
        return set()
    if choice == BOTH:
        return _add_below(result, rows, block_id, added_lines(base, mine, theirs))
    _put_leaving_back(result, rows, leaving, base)
    present = [one["id"] for one in theirs["memories"]] if theirs else []
    if mine is None:
        _delete(result, rows, block_id, [one for one in present if one not in leaving])
        return set()
    _make_like(result, rows, sides, block_id, mine)
    kept = {one["id"] for one in mine["memories"]}
    for one in rows.base("memory", [one for one in present if one not in kept and one not in leaving]).items():
        result.apply([{"row": "memory", "id": one[0], "before": one[1], "after": None}])
    return kept


def _take_out(result: Overlay, block_id: str, base: Block | None) -> dict[str, RowChange]:
    """Forget what the edit did with a block; gives its bullets that went elsewhere."""
    result.blocks.pop(block_id, None)
    here = {one["id"] for one in base["memories"]} if base else set()
    leaving = {}
    for one, change in list(result.memories.items()):
        goes_to = (change.after or {}).get("block")
        if one in here and goes_to not in (None, block_id):
            leaving[one] = result.memories.pop(one)
        elif one in here or goes_to == block_id:
            del result.memories[one]
    return leaving


def _put_leaving_back(result: Overlay, rows: DraftRows, leaving: dict[str, RowChange], base: Block | None) -> None:
    """Bullets that the edit moved elsewhere go there, also when the file has lost them meanwhile."""
    there = rows.base("memory", leaving)
    known = {one["id"]: one for one in base["memories"]} if base else {}
    for one, change in leaving.items():
        row = None if one in there else {name: value for name, value in known[one].items() if name != "id"}
        result.memories[one] = change if row is None else RowChange(None, {**row, **(change.after or {})})


def _add_below(result: Overlay, rows: DraftRows, block_id: str, lines: list[Block]) -> set[str]:
    places = rows.bullet_places(block_id)
    order = places[-1][0] if places else 0.0
    made = set()
    for number, one in enumerate(lines, 1):
        row = {name: value for name, value in one.items() if name not in ("id", "behind")}
        made.add(key := str(uuid.uuid4()))
        result.memories[key] = RowChange(None, {**row, "block": block_id, "order": order + number})
    return made


def _delete(result: Overlay, rows: DraftRows, block_id: str, memories: list[str]) -> None:
    for kind, ids in (("memory", memories), ("block", [block_id])):
        for one, row in rows.base(kind, ids).items():
            result.apply([{"row": kind, "id": one, "before": row, "after": None}])


def _make_like(result: Overlay, rows: DraftRows, sides: Sides, block_id: str, mine: Block) -> None:
    """Give the block and its bullets exactly the words and the order that the edit has."""
    now = rows.base("block", [block_id]).get(block_id)
    fields = {name: mine.get(name) for name in (*BLOCK_FIELDS, *BLOCK_LINKS, "created_at")}
    order = now["order"] if now else _old_place(rows, sides.order, block_id)
    _differ(result, "block", block_id, now, {**fields, "order": order})
    current = rows.base("memory", [one["id"] for one in mine["memories"]])
    for number, one in enumerate(mine["memories"]):
        row = {name: value for name, value in one.items() if name not in ("id", "behind")}
        wanted = {**row, "block": block_id, "order": float(number)}
        _differ(result, "memory", one["id"], current.get(one["id"]), wanted)


def _differ(result: Overlay, kind: str, row_id: str, before: Fields | None, after: Fields) -> None:
    change = difference(kind, row_id, before, after)
    if change is not None:
        result.apply([change])


def _old_place(rows: DraftRows, old: list[str], block_id: str) -> float:
    """Where a block that is gone stood: behind the nearest of its former predecessors that is still there."""
    places = rows.block_places()
    ids = [place[2] for place in places]
    former = reversed(old[: old.index(block_id)] if block_id in old else old)
    at = next((ids.index(one) + 1 for one in former if one in ids), 0)
    return between([place[0] for place in places], at)[0]


def _rearrange(result: Overlay, rows: DraftRows, done: set[str]) -> None:
    """Orders were chosen between neighbours of then; what was moved or made goes behind the same neighbour now."""
    _place_anew(result, "block", rows.block_places(), [one for one, c in result.blocks.items() if _is_placed(c)])
    by_block: defaultdict[str, list[str]] = defaultdict(list)
    for one, change in result.memories.items():
        if one not in done and change.after is not None and _is_placed(change):
            by_block[_home(one, change.after, rows)].append(one)
    for block_id, ids in by_block.items():
        is_new = block_id in result.blocks and result.blocks[block_id].is_made
        _place_anew(result, "memory", [] if is_new else rows.bullet_places(block_id), ids)


def _home(memory_id: str, after: Fields, rows: DraftRows) -> str:
    if "block" in after:
        return str(after["block"])
    return str(rows.base("memory", [memory_id]).get(memory_id, {}).get("block", ""))


def _is_placed(change: RowChange) -> bool:
    return change.after is not None and "behind" in change.after


def _place_anew(result: Overlay, kind: str, places: list[Place], ids: list[str]) -> None:
    changes = result.rows[kind]
    kept = [place for place in places if place[2] not in ids]
    for one in sorted(ids, key=lambda one: (_after(changes[one])["order"], one)):
        after = _after(changes[one])
        names = [place[2] for place in kept]
        at = (
            0
            if after["behind"] is None
            else names.index(after["behind"]) + 1
            if after["behind"] in names
            else len(kept)
        )
        order, crowded = between([place[0] for place in kept], at)
        for number, moved in crowded.items():
            old = kept[number]
            kept[number] = (moved, old[1], old[2])
            result.apply([{"row": kind, "id": old[2], "before": {"order": old[0]}, "after": {"order": moved}}])
        changes[one] = RowChange(changes[one].before, {**after, "order": order})
        kept.insert(at, (order, datetime.now(UTC), one))


def _after(change: RowChange) -> Fields:
    return change.after or {}
