"""Rows of the trash: what a deletion puts there, and when it counts as back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from memories import revisions, watermark
from memories.blocks import is_topic
from memories.memory_filters import topic_words
from memories.models import MemoryFile, TrashItem

Block = dict[str, Any]


def add_blocks(file: MemoryFile, blocks: Iterable[Block], revision: int) -> None:
    """Blocks that a person deleted, as file_state dumps them, with the revision that deleted them."""
    full = [block for block in blocks if block["memories"]]
    states = revisions.pack(file, [revisions.to_json({"blocks": [block]}) for block in full])
    TrashItem.objects.bulk_create(
        _item(file, TrashItem.Kind.BLOCK, title_of(block), state, [block], revision)
        for block, state in zip(full, states, strict=True)
    )


def add_all(file: MemoryFile, state: dict[str, Any], revision: int, *, kind: str, title: str) -> None:
    """All memories of a file that was cleared."""
    kept = revisions.pack_json(file, {"blocks": state["blocks"]})
    _item(file, kind, title, kept, state["blocks"], revision).save()


def note_return(file: MemoryFile, revision: int) -> None:
    """Everything that was deleted after `revision` is there again because that one was restored."""
    _returned(file, TrashItem.objects.for_user(file.owner).filter(revision__gt=revision))


def note_undone(file: MemoryFile, revision: int) -> None:
    """What revision number `revision` deleted is there again because it was undone."""
    _returned(file, TrashItem.objects.for_user(file.owner).filter(revision=revision))


def _returned(file: MemoryFile, rows: QuerySet[TrashItem]) -> None:
    rows = rows.filter(file=file, restored_at=None)
    for item in rows.exclude(kind=TrashItem.Kind.BLOCK).select_related("state"):
        note_reading(file, item)
    rows.update(restored_at=timezone.now())


def keep_reading(file: MemoryFile, revision: int, reading: list[dict[str, Any]]) -> None:
    """What had been read when everything was cleared to be read anew goes into the trash with the memories."""
    for item in TrashItem.objects.for_user(file.owner).filter(file=file, revision=revision).select_related("state"):
        item.state_id = revisions.pack_json(file, {**revisions.read_json(item.state), "reading": reading})
        item.save(update_fields=["state"])


def note_reading(file: MemoryFile, item: TrashItem) -> None:
    """The chats of an item that is there again count as read again, as far as they did before."""
    if kept := revisions.read_json(item.state).get("reading"):
        watermark.count_as_read(file.owner, file.character, kept)


def title_of(block: Block) -> str:
    """What a person calls the block: its topic, else its label."""
    topic = next((one["text"] for one in block["memories"] if is_topic(one["text"])), "")
    return (topic_words(topic) or block["label"])[:500]


def _item(file: MemoryFile, kind: str, title: str, state_id: int, blocks: Sequence[Block], revision: int) -> TrashItem:
    count = sum(not one["is_topic"] for block in blocks for one in block["memories"])
    return TrashItem(
        owner_id=file.owner_id,
        file=file,
        kind=kind,
        title=title[:500],
        state_id=state_id,
        memories=count,
        revision=revision,
    )
