"""What one step of an edit in progress may do. Every verb changes the draft alone; the file changes when it is saved.

Ids are taken as text or UUID and given as text. Locked bullets, and all bullets of a locked block, keep their words:
ValueError says which. NotInFile: a row is not there (any more).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.blocks import clean_bullet, clean_label, is_topic
from memories.date_span import merge as merge_dates
from memories.draft_overlay import Change, Fields, Overlay, difference
from memories.draft_rows import DraftRows, Id, Place
from memories.file_editor import NewMemory, NotInFile
from memories.file_state import BLOCK_FIELDS, BLOCK_LINKS
from memories.models import MemoryFile
from memories.orders import between

SETTABLE = {
    "is_locked",
    "is_unverified",
    "unverified_names",
    "doubts",
    "duplicate_of",
    "is_source_changed",
    "evidence",
}


class DraftEditor:
    """The verbs of a step. `changes` is what they did, one change a row."""

    def __init__(self, file: MemoryFile, overlay: Overlay) -> None:
        self.file = file
        self.rows = DraftRows(file, overlay.copy())
        self._done = Overlay()

    @property
    def changes(self) -> list[Change]:
        return self._done.changes()

    def set_text(self, memory_id: Id, text: str) -> None:
        """Change a bullet's words; where it came from stays. ValueError when nothing is left."""
        cleaned = _cleaned(text)
        self._check_unlocked([memory_id])
        row = self.rows.memory(memory_id)
        if cleaned != row["text"]:
            marks = {"is_unverified": False, "unverified_names": [], "doubts": []}
            self._set("memory", memory_id, text=cleaned, is_topic=is_topic(cleaned), **marks)

    def set_memories(self, ids: Iterable[Id], **fields: Any) -> None:
        """Set what is not text and not place: is_locked, is_unverified, duplicate_of… (SETTABLE)."""
        if unknown := set(fields) - SETTABLE:
            raise TypeError(f"not to be set here: {unknown}")
        for one in self.rows.memories(ids):
            self._set("memory", one, **fields)

    def add_memory(self, block_id: Id, memory: NewMemory | str, position: int | None = None) -> str:
        """Add one bullet at the end of a block or at `position` (0 = first; topic tags count). ValueError if empty."""
        new = NewMemory(memory) if isinstance(memory, str) else memory
        _cleaned(new.text)
        self.rows.block(block_id)
        return self._make_memory(new_row(new), str(block_id), position)

    def delete_memories(self, ids: Iterable[Id]) -> None:
        """Remove bullets; a block that loses its last one goes too."""
        wanted = list(ids)
        self._check_unlocked(wanted)
        rows = self.rows.memories(wanted)
        for one in rows:
            self._put("memory", one, None)
        self._drop_if_empty({row["block"] for row in rows.values()})

    def move_memories(self, ids: Iterable[Id], block_id: Id, position: int | None = None) -> None:
        """Put bullets into a block, in the order given, at `position` among its others (0 = first) or at its end."""
        rows = self.rows.memories(ids)
        self.rows.block(block_id)
        present = self.rows.bullet_places(block_id)
        places = [place for place in present if place[2] not in rows]
        at = len(places) if position is None else max(0, min(position, len(places)))
        wanted = [place[2] for place in places]
        wanted[at:at] = rows
        if wanted == [place[2] for place in present]:
            return
        for number, one in enumerate(rows, at):
            order, behind = self._room("memory", places, number)
            self._set("memory", one, block=str(block_id), order=order, behind=behind)
            places.insert(number, (order, timezone.now(), one))
        self._drop_if_empty({row["block"] for row in rows.values()} - {str(block_id)})

    def copy_memories(self, ids: Iterable[Id], block_id: Id, position: int | None = None) -> list[str]:
        """Put copies of bullets into a block; they keep the evidence. The new ids."""
        rows = self.rows.memories(ids)
        self.rows.block(block_id)
        made = []
        for number, row in enumerate(rows.values()):
            at = None if position is None else position + number
            made.append(self._make_memory({**row, "is_locked": False}, str(block_id), at))
        return made

    def merge_memories(self, ids: Iterable[Id], text: str) -> str:
        """One bullet with these words in place of several; they become its parents. ValueError without text."""
        cleaned = _cleaned(text)
        wanted = list(ids)
        self._check_unlocked(wanted)
        rows = self.rows.memories(wanted)
        if not rows:
            raise ValueError(_("Choose memories to merge first."))
        first = next(iter(rows.values()))
        places = [place[2] for place in self.rows.bullet_places(first["block"])]
        position = places.index(next(iter(rows)))
        evidence = {
            (e.get("identity"), e.get("index"), e.get("quote")): e for r in rows.values() for e in r["evidence"]
        }
        new = NewMemory(cleaned, evidence=list(evidence.values()), parents=self.lineage(rows))
        made = self._make_memory(new_row(new), first["block"], position)
        self.delete_memories(rows)
        return made

    def lineage(self, ids: Iterable[Id]) -> list[str]:
        """What a bullet made of these has as parents: those that the file knows, and the parents of new ones."""
        found: dict[str, None] = {}
        for one, row in self.rows.memories(ids).items():
            is_new = self.rows.overlay.memories.get(one) is not None and self.rows.overlay.memories[one].is_made
            found |= dict.fromkeys(row["parents"] if is_new else [one])
        return list(found)

    def add_block(
        self,
        label: str,
        bullets: Iterable[str | NewMemory],
        *,
        date: str = "",
        origin: str,
        after: Id | None = None,
        **provenance: Any,
    ) -> str | None:
        """A new block behind `after`, at the end of the file when None. None when no bullet has any text.

        `provenance` are further MemoryBlock fields; relations as rows or ids.
        """
        new = [NewMemory(one) if isinstance(one, str) else one for one in bullets]
        new = [one for one in new if clean_bullet(one.text)]
        if not new:
            return None
        block_id = self._make_block({"label": label, "date": date, "origin": origin, **provenance}, after)
        self._fill(block_id, [new_row(one) for one in new])
        return block_id

    def set_block(self, block_id: Id, **fields: Any) -> None:
        """Set fields of a block (label, date, is_locked, origin…)."""
        row = self.rows.block(block_id)
        plain = _block_fields(fields)
        if row["is_locked"] and any(plain[name] != row[name] for name in plain if name in ("label", "date")):
            raise ValueError(_("This block is locked. Unlock it first."))
        self._set("block", block_id, **plain)

    def delete_block(self, block_id: Id) -> None:
        """Remove a block with its bullets."""
        self.rows.block(block_id)
        ids = [place[2] for place in self.rows.bullet_places(block_id)]
        self._check_unlocked(ids, blocks=[block_id])
        for one in self.rows.memories(ids):
            self._put("memory", one, None)
        self._put("block", block_id, None)

    def move_block(self, block_id: Id, *, before: Id | None) -> None:
        """Put a block in front of another in file order; at the end of the file when None."""
        row = self.rows.block(block_id)
        sequence = self.rows.block_places()
        ids = [place[2] for place in sequence if place[2] != str(block_id)]
        at = len(ids) if before is None else _index(ids, before)
        if [place[2] for place in sequence].index(str(block_id)) == at:
            return
        order, behind = self._room("block", [place for place in sequence if place[2] != str(block_id)], at)
        if order != row["order"]:
            self._set("block", block_id, order=order, behind=behind)

    def split_block(self, block_id: Id, memory_id: Id, label: str = "") -> str:
        """Cut a block in front of a bullet: that one and all below become a block of their own behind the old one."""
        row = self.rows.block(block_id)
        self._check_unlocked([], blocks=[block_id])
        ids = [place[2] for place in self.rows.bullet_places(block_id)]
        if str(memory_id) not in ids[1:]:
            raise ValueError(_("A block is split in front of one of its memories, not in front of the first."))
        fields = {name: row[name] for name in (*BLOCK_FIELDS, *BLOCK_LINKS)}
        made = self._make_block({**fields, "label": label or row["label"]}, block_id)
        self._move_tail(ids[ids.index(str(memory_id)) :], made)
        return made

    def merge_blocks(self, ids: Iterable[Id]) -> str:
        """Put the bullets of several blocks into the first of them in file order; the others go."""
        wanted = {str(one) for one in ids}
        order = [place[2] for place in self.rows.block_places() if place[2] in wanted]
        if len(order) < 2:
            raise ValueError(_("Choose at least two blocks to merge."))
        self._check_unlocked([], blocks=order)
        self._widen(order)
        for one in order[1:]:
            self._move_tail([place[2] for place in self.rows.bullet_places(one)], order[0])
            self._drop_if_empty({one})
        return order[0]

    def send_memories(self, ids: Iterable[Id], target: MemoryFile, *, copy: bool) -> None:
        """Send bullets to another memory file of the same person; they arrive there when this edit is saved."""
        if target.owner_id != self.file.owner_id:
            raise PermissionError("bullets are sent between files of one person only")
        if target.pk == self.file.pk:
            raise ValueError(_("Choose another memory file to send memories to."))
        rows = self.rows.memories(ids)
        for block_id in dict.fromkeys(row["block"] for row in rows.values()):
            block = self.rows.block(block_id)
            fields = {name: block[name] for name in (*BLOCK_FIELDS, *BLOCK_LINKS) if name != "form"}
            sent = [row for row in rows.values() if row["block"] == block_id]
            after = {"file": str(target.pk), "block": fields, "memories": sent}
            self._put("send", str(uuid.uuid4()), after)
        if not copy:
            self.delete_memories(rows)

    def _make_block(self, fields: Fields, after: Id | None) -> str:
        sequence = self.rows.block_places()
        at = len(sequence) if after is None else _index([place[2] for place in sequence], after) + 1
        order, behind = self._room("block", sequence, at)
        blank = {"is_locked": False, "first_index": None, "last_index": None, "prompt_version": "", "form": None}
        row = {**blank, **dict.fromkeys(BLOCK_LINKS), **_block_fields(fields), "order": order, "behind": behind}
        return self._make("block", row)

    def _make_memory(self, row: Fields, block_id: str, position: int | None) -> str:
        order, behind = self._room("memory", self.rows.bullet_places(block_id), position)
        return self._make("memory", {**row, "block": block_id, "order": order, "behind": behind})

    def _fill(self, block_id: str, rows: Iterable[Fields]) -> None:
        """Bullets of a new block."""
        behind = None
        for number, row in enumerate(rows):
            behind = self._make("memory", {**row, "block": block_id, "order": float(number), "behind": behind})

    def _move_tail(self, ids: Sequence[str], block_id: str) -> None:
        """Put bullets at the end of a block."""
        places = self.rows.bullet_places(block_id)
        order, behind = self._room("memory", places, None)
        for number, one in enumerate(ids):
            self._set("memory", one, block=block_id, order=order + number, behind=behind)
            behind = one

    def _widen(self, block_ids: Sequence[str]) -> None:
        """The date and the messages of merged blocks span those of all."""
        rows = list(self.rows.blocks(block_ids).values())
        first, last = min(_numbers(rows, "first_index"), default=None), max(_numbers(rows, "last_index"), default=None)
        same_chat = len({row["chat"] for row in rows}) == 1
        span = {"first_index": first, "last_index": last} if same_chat else {"first_index": None, "last_index": None}
        date = merge_dates(row["date"] for row in rows)
        self._set("block", block_ids[0], **span, date=date)

    def _room(self, kind: str, places: list[Place], position: int | None) -> tuple[float, str | None]:
        """An order at that position and the id in front of it; neighbours make room when they stand too close."""
        at = len(places) if position is None else max(0, min(position, len(places)))
        order, crowded = between([place[0] for place in places], at)
        for number, moved in crowded.items():
            _order, born, one = places[number]
            places[number] = (moved, born, one)
            self._set(kind, one, order=moved, behind=places[number - 1][2] if number else None)
        return order, places[at - 1][2] if at else None

    def _drop_if_empty(self, block_ids: Iterable[str]) -> None:
        """A block that lost its last bullet goes, and its topic tag with it, unless that is locked."""
        for one in block_ids:
            if one not in self.rows.blocks([one]):
                continue
            rest = self.rows.memories(place[2] for place in self.rows.bullet_places(one))
            if all(row["is_topic"] and not row["is_locked"] for row in rest.values()):
                for memory_id in rest:
                    self._put("memory", memory_id, None)
                self._put("block", one, None)

    def _check_unlocked(self, ids: Iterable[Id], *, blocks: Iterable[Id] = ()) -> None:
        rows = self.rows.memories(ids)
        around = self.rows.blocks({*(row["block"] for row in rows.values()), *map(str, blocks)})
        if any(around[str(one)]["is_locked"] for one in blocks if str(one) in around):
            raise ValueError(_("This block is locked. Unlock it first."))
        locked = sum(row["is_locked"] or around[row["block"]]["is_locked"] for row in rows.values())
        if locked:
            words = ngettext(
                "“%(text)s” is locked. Unlock it first.",
                "%(n)d of these memories are locked. Unlock them first.",
                locked,
            )
            text = next(r["text"] for r in rows.values() if r["is_locked"] or around[r["block"]]["is_locked"])
            raise ValueError(words % {"n": locked, "text": text[:60]})

    def _make(self, kind: str, row: Fields) -> str:
        row_id = str(uuid.uuid4())
        self._note(kind, row_id, None, {**row, "created_at": timezone.now().isoformat()})
        return row_id

    def _set(self, kind: str, row_id: Id, **fields: Any) -> None:
        row = self._now(kind, str(row_id))
        if row is not None:
            self._put(kind, row_id, {**row, **fields})

    def _now(self, kind: str, row_id: str) -> Fields | None:
        rows = self.rows.memories([row_id]) if kind == "memory" else self.rows.blocks([row_id])
        return rows.get(row_id)

    def _put(self, kind: str, row_id: Id, after: Fields | None) -> None:
        key = str(row_id)
        self._note(kind, key, None if kind == "send" else self._now(kind, key), after)

    def _note(self, kind: str, key: str, before: Fields | None, after: Fields | None) -> None:
        change = difference(kind, key, before, after)
        if change is not None:
            self.rows.overlay.apply([change])
            self._done.apply([change])


def new_row(new: NewMemory) -> Fields:
    """The fields of a bullet to be made, without its place."""
    text = clean_bullet(new.text)
    return {
        "text": text,
        "is_topic": is_topic(text),
        "is_locked": new.is_locked,
        "evidence": new.evidence,
        "parents": [str(one) for one in new.parents],
        "is_unverified": new.is_unverified,
        "unverified_names": new.unverified_names,
        "doubts": new.doubts,
        "duplicate_of": str(new.duplicate_of) if new.duplicate_of else None,
        "is_source_changed": False,
    }


def _cleaned(text: str) -> str:
    cleaned = clean_bullet(text)
    if not cleaned:
        raise ValueError(_("A memory needs some text."))
    return cleaned


def _block_fields(fields: Fields) -> Fields:
    """Values for a block as JSON has them."""
    allowed = {*BLOCK_FIELDS, *BLOCK_LINKS}
    if unknown := set(fields) - allowed:
        raise TypeError(f"not a field of a block: {unknown}")
    plain = {name: value.pk if isinstance(value, Model) else value for name, value in fields.items()}
    plain |= {name: str(plain[name]) for name in BLOCK_LINKS if plain.get(name) is not None}
    if "label" in plain:
        plain["label"] = clean_label(plain["label"])
    if "date" in plain:
        plain["date"] = clean_bullet(plain["date"])[:40]
    return plain


def _numbers(rows: Iterable[Fields], name: str) -> list[int]:
    return [row[name] for row in rows if row[name] is not None]


def _index(ids: Sequence[str], wanted: Id) -> int:
    if str(wanted) not in ids:
        raise NotInFile(_("This block is no longer part of the file."))
    return ids.index(str(wanted))
