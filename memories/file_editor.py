"""Changes to one memory file while its transaction is open (memories/memory_file.py). Ids are UUIDs of its rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from memories.blocks import clean_bullet, clean_label, is_topic
from memories.models import Memory, MemoryBlock, MemoryFile
from memories.orders import between


class NotInFile(LookupError):
    """The block or memory is not (or no longer) part of this file. The message is a finished sentence."""


@dataclass(frozen=True)
class NewMemory:
    """One bullet to add, with what is known about it."""

    text: str
    evidence: list[dict[str, Any]] = field(default_factory=list)
    unverified_names: list[str] = field(default_factory=list)
    is_unverified: bool = False
    duplicate_of: uuid.UUID | None = None
    parents: list[str] = field(default_factory=list)  # ids of the bullets that it replaces
    is_locked: bool = False
    doubts: list[dict[str, str]] = field(default_factory=list)  # as Memory.doubts


class Editor:
    """What a change may do with a file. Every verb writes at once; the revision is made when the change ends."""

    def __init__(self, file: MemoryFile) -> None:
        self.file = file
        self.added = 0
        self.removed = 0
        self.is_changed = False
        # Blocks whose content differs from the revision before; None: any of them may.
        self.touched: set[str] | None = set()
        self.appended: list[str] = []  # blocks added at the end
        self.is_reordered = False  # whether blocks were put elsewhere, put in between or taken out

    @property
    def blocks(self) -> list[MemoryBlock]:
        """The blocks in file order as they are now."""
        return list(self.file.blocks.order_by("order", "created_at", "pk"))

    def block(self, block_id: uuid.UUID | str) -> MemoryBlock:
        found = self.file.blocks.filter(pk=block_id).first()
        if found is None:
            raise NotInFile(_("This block is no longer part of the file."))
        return found

    def memory(self, memory_id: uuid.UUID | str) -> Memory:
        rows = Memory.objects.for_user(self.file.owner)
        found = rows.filter(pk=memory_id, block__file=self.file).select_related("block").first()
        if found is None:
            raise NotInFile(_("This memory is no longer part of the file."))
        return found

    def add_block(
        self, label: str, bullets: Iterable[str | NewMemory], *, date: str = "", origin: str, **provenance: Any
    ) -> MemoryBlock | None:
        """Append a block; `provenance` are further MemoryBlock fields. None when no bullet has any text."""
        new = _usable(bullets)
        if not new:
            return None
        last = self.file.blocks.order_by().aggregate(last=Max("order"))["last"]
        block = MemoryBlock.objects.create(
            file=self.file,
            order=0 if last is None else last + 1,
            label=clean_label(label),
            date=clean_bullet(date)[:40],
            origin=origin,
            **provenance,
        )
        if last is None:
            self._put_loose_text_before(block)
        self._insert(block, new, [float(place) for place in range(len(new))])
        self.appended.append(str(block.pk))
        return block

    def add_memory(self, block_id: uuid.UUID | str, memory: str | NewMemory, position: int | None = None) -> Memory:
        """Add one bullet to a block, at the end or at `position` (0 = first). ValueError when it has no text."""
        new = _usable([memory])
        if not new:
            raise ValueError(_("A memory needs some text."))
        block = self.block(block_id)
        return self._insert(block, new, [self._room(block, None, position)])[0]

    def set_text(self, memory_id: uuid.UUID | str, text: str) -> Memory:
        """Change a bullet's words; where it came from stays. ValueError when nothing is left."""
        memory = self.memory(memory_id)
        cleaned = clean_bullet(text)
        if not cleaned:
            raise ValueError(_("A memory needs some text."))
        if cleaned != memory.text:
            memory.text, memory.is_topic = cleaned, is_topic(cleaned)
            memory.is_unverified, memory.unverified_names, memory.doubts = False, [], []
            memory.save()
            self._count(memory.block_id, added=1, removed=1)
        return memory

    def set_block(self, block_id: uuid.UUID | str, **fields: Any) -> MemoryBlock:
        """Set fields of a block (label, date, is_locked, origin…)."""
        block = self.block(block_id)
        if "label" in fields:
            fields["label"] = clean_label(fields["label"])
        changed = {name: value for name, value in fields.items() if getattr(block, name) != value}
        for name, value in changed.items():
            setattr(block, name, value)
        if changed:
            block.save()
            self._count(block.pk)
        return block

    def delete_memory(self, memory_id: uuid.UUID | str) -> None:
        """Remove a bullet; a block that loses its last one goes too, with its topic tag."""
        memory = self.memory(memory_id)
        block = memory.block
        memory.delete()
        self._count(block.pk, removed=1)
        self._drop_if_empty(block)

    def delete_block(self, block_id: uuid.UUID | str) -> None:
        """Remove a block and its bullets; hand-written text in front of it stays in the file."""
        block = self.block(block_id)
        self._count(block.pk, removed=block.memories.count())
        self._drop(block)

    def move_block(self, block_id: uuid.UUID | str, position: int) -> None:
        """Put a block at `position` (0 = first)."""
        block = self.block(block_id)
        present = self.blocks
        others = [one for one in present if one.pk != block.pk]
        at = max(0, min(position, len(others)))
        if present[at].pk == block.pk:
            return
        order, crowded = between([one.order for one in others], at)
        for place, number in crowded.items():
            self.file.blocks.filter(pk=others[place].pk).update(order=number)
        self.file.blocks.filter(pk=block.pk).update(order=order)
        self.is_reordered = True
        self._count()

    def move_memory(self, memory_id: uuid.UUID | str, block_id: uuid.UUID | str, position: int) -> None:
        """Put a bullet into a block at `position` (0 = first); its former block goes when it becomes empty."""
        memory = self.memory(memory_id)
        former, block = memory.block, self.block(block_id)
        memory.order = self._room(block, memory, max(0, position))
        memory.block = block
        memory.save(update_fields=["block", "order", "updated_at"])
        self._count(former.pk, block.pk)
        if former.pk != block.pk:
            self._drop_if_empty(former)

    def set_layout(self, *, layout: str, separator: str, with_metadata: bool) -> None:
        """Choose how the file is written."""
        new = {"layout": layout, "separator": separator, "with_metadata": with_metadata}
        if any(getattr(self.file, name) != value for name, value in new.items()):
            for name, value in new.items():
                setattr(self.file, name, value)
            self._count()

    def touch(
        self, blocks: Iterable[object] | None = None, *, added: int = 0, removed: int = 0, is_reordered: bool = True
    ) -> None:
        """Say that rows were changed around this editor (import, restore), in which blocks (None = in any), and whether
        the blocks are others or stand elsewhere."""
        self.is_reordered |= is_reordered
        if blocks is None:
            self.touched = None
        self._count(*(blocks or ()), added=added, removed=removed)

    def _count(self, *blocks: object, added: int = 0, removed: int = 0) -> None:
        self.added += added
        self.removed += removed
        self.is_changed = True
        if self.touched is not None:
            self.touched |= {str(one) for one in blocks}

    def _insert(self, block: MemoryBlock, new: Sequence[NewMemory], orders: Sequence[float]) -> list[Memory]:
        rows = [_row(block, one, order) for one, order in zip(new, orders, strict=True)]
        Memory.objects.bulk_create(rows)
        self._count(block.pk, added=len(rows))
        return rows

    def _room(self, block: MemoryBlock, memory: Memory | None, position: int | None) -> float:
        """An order at that place of a block, which `memory` may stand in already."""
        others = [one for one in block.memories.all() if memory is None or one.pk != memory.pk]
        order, crowded = between([one.order for one in others], len(others) if position is None else position)
        for place, number in crowded.items():
            block.memories.filter(pk=others[place].pk).update(order=number)
        return order

    def _drop_if_empty(self, block: MemoryBlock) -> None:
        tags = [memory.is_topic for memory in block.memories.all()]
        if all(tags):
            self._count(block.pk, removed=len(tags))
            self._drop(block)

    def _drop(self, block: MemoryBlock) -> None:
        """Delete the row; text that stood in front of it now stands in front of its successor, or at the end."""
        blocks = self.blocks
        place = next(place for place, one in enumerate(blocks) if one.pk == block.pk)
        heir = str(blocks[place + 1].pk) if place + 1 < len(blocks) else None
        self.file.loose_text = [
            one | {"before": heir} if one["before"] == str(block.pk) else one for one in self.file.loose_text
        ]
        block.delete()
        self.is_reordered = True
        self._count()

    def _put_loose_text_before(self, block: MemoryBlock) -> None:
        """In a file that held only hand-written text, the first block goes below that text."""
        text = "".join(one["text"] for one in self.file.loose_text).rstrip()
        self.file.loose_text = [{"before": str(block.pk), "text": f"{text}\n\n"}] if text else []


def _usable(bullets: Iterable[str | NewMemory]) -> list[NewMemory]:
    new = [NewMemory(one) if isinstance(one, str) else one for one in bullets]
    return [one for one in new if clean_bullet(one.text)]


def _row(block: MemoryBlock, new: NewMemory, order: float) -> Memory:
    text = clean_bullet(new.text)
    return Memory(
        block=block,
        order=order,
        text=text,
        is_topic=is_topic(text),
        evidence=new.evidence,
        is_unverified=new.is_unverified,
        unverified_names=new.unverified_names,
        duplicate_of_id=new.duplicate_of,
        parents=[str(one) for one in new.parents],
        is_locked=new.is_locked,
        doubts=new.doubts,
    )
