"""An edit in progress as the rows that it changes: steps fold into one change per row (pure).

A change is {"row", "id", "before", "after"} as DraftStep keeps it. Rows are "block" and "memory" with the field names
of memories/file_state.py and "order", memories with "block"; "behind" names the row that stood in front of it when its
order was chosen. "send" is a set of bullets for another file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]
Change = dict[str, Any]
KINDS = ("block", "memory", "send")


@dataclass(frozen=True)
class RowChange:
    """What became of one row. `before` None: the edit made it; `after` None: the edit deleted it (then `before` is the
    whole row); otherwise both hold the fields that differ."""

    before: Fields | None
    after: Fields | None

    @property
    def is_made(self) -> bool:
        return self.before is None

    @property
    def is_deleted(self) -> bool:
        return self.after is None


@dataclass
class Overlay:
    """All rows that differ from the file, by kind and id."""

    rows: dict[str, dict[str, RowChange]] = field(default_factory=lambda: {kind: {} for kind in KINDS})

    @property
    def blocks(self) -> dict[str, RowChange]:
        return self.rows["block"]

    @property
    def memories(self) -> dict[str, RowChange]:
        return self.rows["memory"]

    @property
    def sends(self) -> dict[str, RowChange]:
        return self.rows["send"]

    def __bool__(self) -> bool:
        return any(self.rows.values())

    def copy(self) -> Overlay:
        """An overlay to go on with; this one stays."""
        return Overlay({kind: dict(rows) for kind, rows in self.rows.items()})

    def apply(self, changes: Iterable[Change]) -> None:
        """One more step."""
        for one in changes:
            rows = self.rows[one["row"]]
            both = _compose(rows.get(one["id"]), RowChange(one["before"], one["after"]))
            if both is None:
                rows.pop(one["id"], None)
            else:
                rows[one["id"]] = both

    def seen(self, kind: str, row_id: str, base: Mapping[str, Any] | None) -> Fields | None:
        """The row as the edit has it; `base` is the file's row, None when the file has none."""
        change = self.rows[kind].get(row_id)
        if change is None:
            return None if base is None else dict(base)
        if change.after is None or (base is None and change.before is not None):
            return None
        return {**(base or {}), **change.after}

    def changes(self) -> list[Change]:
        """Everything as the changes of one step."""
        return [
            {"row": kind, "id": row_id, "before": one.before, "after": one.after}
            for kind, rows in self.rows.items()
            for row_id, one in rows.items()
        ]


def fold(steps: Iterable[Iterable[Change]]) -> Overlay:
    """The steps in force, oldest first, as one overlay."""
    overlay = Overlay()
    for changes in steps:
        overlay.apply(changes)
    return overlay


def difference(kind: str, row_id: str, before: Fields | None, after: Fields | None) -> Change | None:
    """The change from one state of a row to the next; None when they are the same."""
    slim = _slim(before, after)
    return None if slim is None else {"row": kind, "id": row_id, "before": slim.before, "after": slim.after}


def collide(mine: Iterable[Change], theirs: Iterable[Change]) -> bool:
    """Whether two steps that were made from the same state cannot stand one after the other: they change the same row,
    or one deletes a block that the other puts bullets into."""
    one, other = _touches(mine), _touches(theirs)
    same_row = one["rows"] & other["rows"]
    return bool(same_row or one["gone"] & other["blocks"] or other["gone"] & one["blocks"])


def _touches(changes: Iterable[Change]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"rows": set(), "gone": set(), "blocks": set()}
    for one in changes:
        found["rows"].add(one["id"])
        if one["row"] == "block" and one["after"] is None:
            found["gone"].add(one["id"])
        if one["row"] == "memory" and one["after"] and "block" in one["after"]:
            found["blocks"].add(one["after"]["block"])
    return found


def _compose(old: RowChange | None, new: RowChange) -> RowChange | None:
    """Two changes of one row in a row."""
    if old is None:
        return new
    if old.before is None:
        return None if new.after is None else RowChange(None, {**(old.after or {}), **new.after})
    if new.after is None:
        return RowChange({**(new.before or {}), **old.before}, None)
    if old.after is None:
        return _slim(old.before, new.after)
    return _slim({**(new.before or {}), **old.before}, {**old.after, **new.after})


def _slim(before: Fields | None, after: Fields | None) -> RowChange | None:
    if before is None or after is None:
        return None if before is after else RowChange(before, after)
    names = [name for name in after if name not in before or before[name] != after[name]]
    if not names:
        return None
    return RowChange({name: before.get(name) for name in names}, {name: after[name] for name in names})
