"""Rows of a memory file as an edit in progress has them: the file's rows below, the edit's changes on top.

Nothing is loaded but what is asked for; a file of 10,000 bullets costs its ids and orders at most.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from memories.draft_overlay import Fields, Overlay, RowChange
from memories.file_editor import NotInFile
from memories.file_state import BLOCK_FIELDS, BLOCK_LINKS, MEMORY_FIELDS, plain
from memories.models import Memory, MemoryFile
from memories.outlines import outline_of

AT_ONCE = 500
Id = uuid.UUID | str
Place = tuple[float, datetime, str]  # order, creation, id: how rows are sorted


class DraftRows:
    """The rows of `file` under `overlay`. Ids go out as text; UUIDs are taken too."""

    def __init__(self, file: MemoryFile, overlay: Overlay) -> None:
        self.file = file
        self.overlay = overlay
        self._base: dict[str, dict[str, Fields | None]] = {"block": {}, "memory": {}}
        self._block_base: dict[str, Place] | None = None

    def memory(self, memory_id: Id) -> Fields:
        """The fields of one bullet; NotInFile when it is not there."""
        return self._one("memory", memory_id, _("This memory is no longer part of the file."))

    def block(self, block_id: Id) -> Fields:
        """The fields of one block; NotInFile when it is not there."""
        return self._one("block", block_id, _("This block is no longer part of the file."))

    def memories(self, ids: Iterable[Id]) -> dict[str, Fields]:
        """Those of the bullets that are there, by id, in the order asked for."""
        return self._many("memory", ids)

    def blocks(self, ids: Iterable[Id]) -> dict[str, Fields]:
        """Those of the blocks that are there, by id, in the order asked for."""
        return self._many("block", ids)

    def base(self, kind: str, ids: Iterable[Id]) -> dict[str, Fields]:
        """Rows as the file has them, without the edit; those that it lacks are left out."""
        wanted = [str(one) for one in ids]
        self._load(kind, wanted)
        return {one: row for one in wanted if (row := self._base[kind][one]) is not None}

    def block_places(self) -> list[Place]:
        """All blocks in file order."""
        if self._block_base is None:  # a step that makes hundreds of blocks asks each time
            rows = self.file.blocks.order_by().values_list("order", "created_at", "pk")
            self._block_base = {str(pk): (order, born, str(pk)) for order, born, pk in rows}
        return self._placed("block", dict(self._block_base))

    def bullet_places(self, block_id: Id) -> list[Place]:
        """All bullets of a block in order, topic tags included."""
        key = str(block_id)
        present: dict[str, Place] = {}
        change = self.overlay.blocks.get(key)
        if change is None or not change.is_made:
            rows = self._memories.filter(block=uuid.UUID(key)).order_by().values_list("order", "created_at", "pk")
            present = {str(pk): (order, born, str(pk)) for order, born, pk in rows}
        changes = self.overlay.memories
        coming = [one for one, change in changes.items() if one not in present and _is_in(change.after, key)]
        for one, row in self.memories(coming).items():
            present[one] = (row["order"], datetime.fromisoformat(row["created_at"]), one)
        left = {one for one in present if one in changes and _leaves(changes[one].after, key)}
        return self._placed("memory", {one: place for one, place in present.items() if one not in left})

    def listed(self, found: QuerySet[Memory] | None) -> list[tuple[uuid.UUID, int]]:
        """(block, bullets among `found`; of all without topic tags when None) in file order; bullets that the edit
        changes do not count."""
        outline = outline_of(self.file)
        if found is None and not self.overlay:
            return list(outline.counts)
        is_filtered = found is not None
        counts = dict(outline.counts if found is None else found.order_by().values_list("block").annotate(n=Count("*")))
        found = self._memories.filter(is_topic=False) if found is None else found
        for part in parts([one for one in self.recounted(is_filtered) if not self.overlay.memories[one].is_made]):
            for block in found.filter(pk__in=part).order_by().values_list("block", flat=True):
                counts[block] = counts.get(block, 0) - 1
        if not self.overlay.blocks:
            return [(one, counts.get(one, 0)) for one, _n in outline.counts]
        return [(one, counts.get(one, 0)) for one in (uuid.UUID(place[2]) for place in self.block_places())]

    def recounted(self, is_filtered: bool) -> list[str]:
        """The bullets of the edit that lists may have to count elsewhere than the file has them: under filters all,
        without them not those that are only reworded."""
        changes = self.overlay.memories
        return [one for one, change in changes.items() if is_filtered or _is_placed_anew(change)]

    def topic_tags(self, block_ids: Sequence[str]) -> dict[str, str]:
        """The words of the first topic tag of each of these blocks; blocks without one are left out."""
        found: list[tuple[float, datetime, str, str, str]] = []
        for part in parts(block_ids):
            tags = self._memories.filter(block__in=[uuid.UUID(one) for one in part], is_topic=True).order_by()
            rows = tags.values_list("order", "created_at", "pk", "block", "text")
            found += [(order, born, str(pk), str(block), text) for order, born, pk, block, text in rows]
        found = [one for one in found if one[2] not in self.overlay.memories]
        wanted = set(block_ids)
        for key, row in self.memories(self.overlay.memories).items():
            if row["is_topic"] and row["block"] in wanted:
                found.append((row["order"], datetime.fromisoformat(row["created_at"]), key, row["block"], row["text"]))
        return {block: text for _order, _born, _pk, block, text in sorted(found, reverse=True)}

    def read_blocks(self, block_ids: Sequence[str]) -> list[str]:
        """Load all bullets that the file has in these blocks, in one go; their ids."""
        found = []
        for part in parts(block_ids):
            for row in self._memory_rows(block__in=part):
                found.append(key := row.pop("id"))
                self._base["memory"][key] = row
        return found

    @property
    def _memories(self) -> QuerySet[Memory]:
        return Memory.objects.for_user(self.file.owner).filter(block__file=self.file)

    def _one(self, kind: str, row_id: Id, problem: str) -> Fields:
        found = self._many(kind, [row_id])
        if not found:
            raise NotInFile(problem)
        return found[str(row_id)]

    def _many(self, kind: str, ids: Iterable[Id]) -> dict[str, Fields]:
        wanted = [str(one) for one in ids]
        self._load(kind, wanted)
        seen = ((one, self.overlay.seen(kind, one, self._base[kind][one])) for one in wanted)
        return {one: row for one, row in seen if row is not None}

    def _load(self, kind: str, ids: Sequence[str]) -> None:
        """Fetch base rows that were not asked for before."""
        base, changes = self._base[kind], self.overlay.rows[kind]
        missing = []
        for one in dict.fromkeys(ids):
            if one in base:
                continue
            base[one] = None
            if (one not in changes or not changes[one].is_made) and is_id(one):
                missing.append(one)
        for part in parts(missing):
            for row in self._rows(kind, part):
                base[row.pop("id")] = row

    def _rows(self, kind: str, ids: Sequence[str]) -> Iterator[Fields]:
        if kind == "block":
            links = (f"{name}_id" for name in BLOCK_LINKS)
            blocks = self.file.blocks.filter(pk__in=ids).values("id", "created_at", "order", *links, *BLOCK_FIELDS)
            return (plain(row, *BLOCK_LINKS) for row in blocks)
        return self._memory_rows(pk__in=ids)

    def _memory_rows(self, **which: Sequence[str]) -> Iterator[Fields]:
        names = ("id", "created_at", "order", "block_id", "duplicate_of_id", *MEMORY_FIELDS)
        return (plain(row, "duplicate_of", "block") for row in self._memories.filter(**which).values(*names))

    def _placed(self, kind: str, present: dict[str, Place]) -> list[Place]:
        """The places after the edit's changes of order, made and deleted rows, sorted."""
        changes = self.overlay.rows[kind]
        for one in [one for one in present if one in changes]:
            after = changes[one].after
            if after is None:
                del present[one]
            elif "order" in after:
                present[one] = (after["order"], present[one][1], one)
        if kind == "block":
            made = ((one, change.after) for one, change in changes.items() if change.is_made and change.after)
            present |= {one: (row["order"], datetime.fromisoformat(row["created_at"]), one) for one, row in made}
        return sorted(present.values())


def parts(ids: Sequence[str], size: int = AT_ONCE) -> Iterator[Sequence[str]]:
    """The ids in portions that every database takes in one query."""
    return (ids[start : start + size] for start in range(0, len(ids), size))


def is_id(text: str) -> bool:
    """Whether a text can be the id of a row."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _is_placed_anew(change: RowChange) -> bool:
    """Made, deleted, put into another block, or a topic tag on one side only."""
    return change.before is None or change.after is None or bool({"block", "is_topic"} & change.after.keys())


def _is_in(after: Fields | None, block_id: str) -> bool:
    return after is not None and after.get("block") == block_id


def _leaves(after: Fields | None, block_id: str) -> bool:
    """Deleted, or put into another block."""
    return after is None or after.get("block", block_id) != block_id
