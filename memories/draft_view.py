"""Reads of an edit in progress, for pages: the file's rows with the draft's changes on top.

Lists are made from ids, orders and counts; bullets are loaded for the blocks that are shown and no others.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.db.models import QuerySet

from memories.draft_overlay import Fields, Overlay, RowChange
from memories.draft_rows import DraftRows, Id
from memories.file_state import BLOCK_LINKS
from memories.models import Draft, Memory, MemoryFile
from sync.models import Chat

PLACE = {"order", "behind"}  # a row that only stands elsewhere does not count as reworded


class RowFilters(Protocol):
    """What a list can be filtered by (memories/memory_filters.py)."""

    @property
    def is_any(self) -> bool: ...

    def apply(self, rows: QuerySet[Memory]) -> QuerySet[Memory]: ...

    def holds(self, row: Any, block: Any, tag: str) -> bool: ...


@dataclass(eq=False)
class DraftMemory:
    """One bullet as the draft has it, with the field names of Memory."""

    id: uuid.UUID
    block_id: uuid.UUID
    order: float
    text: str
    is_topic: bool
    is_locked: bool
    evidence: list[dict[str, Any]]
    parents: list[str]
    is_unverified: bool
    unverified_names: list[str]
    doubts: list[dict[str, str]]
    duplicate_of_id: uuid.UUID | None
    is_source_changed: bool
    created_at: datetime
    is_new: bool
    is_changed: bool
    _view: DraftView = field(repr=False)

    @property
    def pk(self) -> uuid.UUID:
        return self.id

    @property
    def block(self) -> DraftBlock:
        return self._view.block(self.block_id)


@dataclass(eq=False)
class DraftBlock:
    """One block as the draft has it, with the field names of MemoryBlock; `memories` are its bullets in order."""

    id: uuid.UUID
    order: float
    label: str
    date: str
    origin: str
    is_locked: bool
    chat_id: uuid.UUID | None
    first_index: int | None
    last_index: int | None
    job_id: uuid.UUID | None
    call_id: uuid.UUID | None
    prompt_version: str
    form: dict[str, Any] | None
    created_at: datetime
    is_new: bool
    is_changed: bool
    _view: DraftView = field(repr=False)

    @property
    def pk(self) -> uuid.UUID:
        return self.id

    @property
    def file(self) -> MemoryFile:
        return self._view.file

    @property
    def chat(self) -> Chat | None:
        """The chat that it came from, while that is there."""
        return self._view.chat(self.chat_id)

    @property
    def memories(self) -> list[DraftMemory]:
        """All bullets, topic tags included. A block of thousands is read with DraftView.bullets instead."""
        return self._view.memories_of(self.id)


class DraftView:
    """The draft as a person sees it. `changes` counts the steps in force. Ids are taken as UUID or text.

    `undo_label` and `redo_label` name the steps that could be taken back and done again, "" when there are none.
    """

    def __init__(self, draft: Draft, overlay: Overlay, labels: tuple[str, str] = ("", "")) -> None:
        self.draft = draft
        self.file = draft.file
        self.changes = draft.pointer
        self.undo_label, self.redo_label = labels
        self.overlay = overlay
        self.rows = DraftRows(self.file, overlay)
        self._blocks: dict[str, DraftBlock] = {}
        self._bullets: dict[str, list[DraftMemory]] = {}
        self._chats: dict[uuid.UUID, Chat] | None = None

    def memory(self, memory_id: Id) -> DraftMemory:
        """One bullet; NotInFile when it is not there (any more)."""
        return self._memory(str(memory_id), self.rows.memory(memory_id))

    def memories(self, ids: Iterable[Id]) -> list[DraftMemory]:
        """Those of the bullets that are there, in the order asked for."""
        return [self._memory(one, row) for one, row in self.rows.memories(ids).items()]

    def block(self, block_id: Id) -> DraftBlock:
        """One block; NotInFile when it is not there (any more)."""
        key = str(block_id)
        if key not in self._blocks:
            self._blocks[key] = self._block(key, self.rows.block(block_id))
        return self._blocks[key]

    def blocks(self, ids: Iterable[Id]) -> list[DraftBlock]:
        """Those of the blocks that are there, in the order asked for; their bullets are read in one go when needed."""
        wanted = [str(one) for one in ids]
        for key, row in self.rows.blocks([one for one in wanted if one not in self._blocks]).items():
            self._blocks[key] = self._block(key, row)
        return [self._blocks[one] for one in wanted if one in self._blocks]

    def memories_of(self, block_id: Id) -> list[DraftMemory]:
        """The bullets of a block in order; those of all blocks held so far are read together."""
        key = str(block_id)
        if key not in self._bullets:
            self._read_bullets([one for one in {*self._blocks, key} if one not in self._bullets])
        return self._bullets[key]

    def bullets(self, block_id: Id, start: int = 0, stop: int | None = None) -> list[DraftMemory]:
        """Bullets number `start` to `stop` of a block, topic tags not counted: for blocks of any size."""
        ids = [place[2] for place in self.rows.bullet_places(block_id)]
        tags = self._tags(block_id)
        return self.memories([one for one in ids if one not in tags][start:stop])

    def topic(self, block_id: Id) -> DraftMemory | None:
        """The topic tag of a block, without its other bullets."""
        tags = self._tags(block_id)
        ids = [place[2] for place in self.rows.bullet_places(block_id) if place[2] in tags] if tags else []
        return next(iter(self.memories(ids[:1])), None)

    def block_ids(self) -> list[uuid.UUID]:
        """All blocks in file order, oldest first."""
        return [uuid.UUID(place[2]) for place in self.rows.block_places()]

    def listing(self, filters: RowFilters | None = None, *, newest: bool = True) -> list[tuple[uuid.UUID, int]]:
        """(block, bullets shown, topic tags not counted), newest first or in story order; with filters only blocks
        that show any."""
        wanted = filters if filters is not None and filters.is_any else None
        found = self.rows.listed(wanted.apply(self._base.filter(is_topic=False)) if wanted else None)
        own = self._own_counts(wanted)
        whole = self._whole_counts(wanted)
        if own or whole:
            found = [(one, whole.get(one, n + own.get(one, 0))) for one, n in found]
        if wanted is not None:
            found = [one for one in found if one[1] > 0]
        return found[::-1] if newest else found

    def chat(self, chat_id: uuid.UUID | None) -> Chat | None:
        """A chat of one of the blocks held."""
        if chat_id is None:
            return None
        if self._chats is None or chat_id not in self._chats:
            ids = {one.chat_id for one in self._blocks.values() if one.chat_id} | {chat_id}
            self._chats = Chat.objects.for_user(self.draft.owner).in_bulk(ids)
        return self._chats.get(chat_id)

    def _own_counts(self, filters: RowFilters | None) -> Counter[uuid.UUID]:
        """How many of the bullets that the edit changes are shown in each block."""
        rows = self.memories(self.rows.recounted(filters is not None))
        return Counter(row.block_id for row in self._passing(filters, rows))

    def _whole_counts(self, filters: RowFilters | None) -> dict[uuid.UUID, int]:
        """Blocks that have to be counted anew bullet by bullet."""
        blocks = self.blocks(self._to_count_anew()) if filters else []
        rows = [row for one in blocks for row in one.memories]
        counts = Counter(row.block_id for row in self._passing(filters, rows))
        return {one.id: counts[one.id] for one in blocks}

    def _passing(self, filters: RowFilters | None, rows: Iterable[DraftMemory]) -> list[DraftMemory]:
        """Those of the bullets that the filters show, topic tags left out. There may be thousands: the blocks and
        their topic tags are read together."""
        bullets = [row for row in rows if not row.is_topic]
        if filters is None:
            return bullets
        keys = dict.fromkeys(str(row.block_id) for row in bullets)
        blocks = {key: self._block(key, row) for key, row in self.rows.blocks(keys).items()}
        tags = self.rows.topic_tags(list(keys))
        found = ((row, key) for row in bullets if (key := str(row.block_id)) in blocks)
        return [row for row, key in found if filters.holds(row, blocks[key], tags.get(key, ""))]

    def _to_count_anew(self) -> set[str]:
        """Blocks whose every bullet may match otherwise than in the file: changed themselves, or their topic tag."""
        found = {one for one, change in self.overlay.blocks.items() if _is_reworded(change)}
        for one, change in self.overlay.memories.items():
            for side in (change.before, change.after):
                if side is not None and side.get("is_topic"):
                    found |= {str(row["block"]) for row in self.rows.memories([one]).values()}
                    found |= {side["block"]} if "block" in side else set()
        return {str(one) for one in self.rows.blocks(found)}

    def _tags(self, block_id: Id) -> set[str]:
        """Ids of the topic tags of a block."""
        key = str(block_id)
        change = self.overlay.blocks.get(key)
        found: set[str] = set()
        if change is None or not change.is_made:
            base = self._base.filter(block=uuid.UUID(key), is_topic=True).order_by().values_list("pk", flat=True)
            found = {str(pk) for pk in base}
        touched = self.rows.memories(self.overlay.memories)
        found -= set(self.overlay.memories)
        return found | {one for one, row in touched.items() if row["is_topic"] and row["block"] == key}

    @property
    def _base(self) -> QuerySet[Memory]:
        return Memory.objects.for_user(self.draft.owner).filter(block__file=self.file)

    def _read_bullets(self, keys: list[str]) -> None:
        """The bullets of several blocks in one query."""
        found: dict[str, list[DraftMemory]] = {one: [] for one in keys}
        changes = self.overlay.memories.items()
        coming = [one for one, change in changes if change.after and change.after.get("block") in found]
        ids = dict.fromkeys([*self.rows.read_blocks(keys), *coming])
        for one, row in self.rows.memories(ids).items():
            if row["block"] in found:
                found[row["block"]].append(self._memory(one, row))
        for key, rows in found.items():
            self._bullets[key] = sorted(rows, key=lambda row: (row.order, row.created_at, str(row.id)))

    def _memory(self, key: str, row: Fields) -> DraftMemory:
        fields = {name: value for name, value in row.items() if name not in ("block", "duplicate_of", "behind")}
        fields |= {"block_id": uuid.UUID(row["block"]), "duplicate_of_id": _uuid(row["duplicate_of"])}
        fields.setdefault("doubts", [])  # of a bullet that was made before there were any
        return DraftMemory(**self._common(key, row, fields, self.overlay.memories.get(key)))

    def _block(self, key: str, row: Fields) -> DraftBlock:
        fields = {name: value for name, value in row.items() if name not in (*BLOCK_LINKS, "behind")}
        fields |= {f"{name}_id": _uuid(row[name]) for name in BLOCK_LINKS}
        return DraftBlock(**self._common(key, row, fields, self.overlay.blocks.get(key)))

    def _common(self, key: str, row: Fields, fields: Fields, change: RowChange | None) -> Fields:
        is_new = change is not None and change.is_made
        marks = {"is_new": is_new, "is_changed": not is_new and change is not None and _is_reworded(change)}
        born = datetime.fromisoformat(row["created_at"])
        return {**fields, **marks, "id": uuid.UUID(key), "created_at": born, "_view": self}


def _is_reworded(change: RowChange) -> bool:
    return change.before is None or change.after is None or bool(set(change.after) - PLACE)


def _uuid(text: str | None) -> uuid.UUID | None:
    return None if text is None else uuid.UUID(text)
