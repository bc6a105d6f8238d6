"""What lists need to know about a whole memory file: its blocks in order with their counts, and who takes part.

Finding that out is a pass over every bullet, and it changes only with the version of the file: this process remembers
it by file and version. A file that is being changed is read anew, because its rows may still be taken back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, Count, OuterRef, Subquery
from django.db.models.functions import Cast, Coalesce

from accounts.models import User
from memories.memory_filters import topic_parts
from memories.models import Memory, MemoryFile
from sync.models import Character

MOST_REMEMBERED = 64  # files
Stamp = tuple[int, datetime]  # a version and when it was made

_remembered: dict[UUID, tuple[Stamp, Outline]] = {}


class BlockFacts(NamedTuple):
    """One block without its bullets. `bullets` counts them, topic tags left out; `born` is when the block was made, as
    the database writes it: it sorts, and reading thousands of moments takes longer than all else."""

    id: UUID
    order: float
    born: str
    origin: str
    chat_id: UUID | None
    bullets: int


@dataclass(frozen=True)
class Outline:
    """The blocks of a file in file order, and `casts`: who takes part by topic tags ("Wren, Tom"), how often."""

    blocks: tuple[BlockFacts, ...]
    casts: dict[str, int]

    @cached_property
    def counts(self) -> list[tuple[UUID, int]]:
        """(block, its bullets) in file order."""
        return [(one.id, one.bullets) for one in self.blocks]

    @cached_property
    def memories(self) -> int:
        return sum(one.bullets for one in self.blocks)

    @cached_property
    def sources(self) -> dict[tuple[str, UUID | None], int]:
        """Bullets by origin and chat."""
        found: Counter[tuple[str, UUID | None]] = Counter()
        for one in self.blocks:
            found[one.origin, one.chat_id] += one.bullets
        return found


def outline_of(file: MemoryFile) -> Outline:
    """The file at the version that `file` has in hand."""
    stamp = (file.version, file.updated_at)
    known = _remembered.get(file.pk)
    if known is not None and known[0] == stamp:
        return known[1]
    found = Outline(_blocks(file), _casts(file))
    if not transaction.get_connection().in_atomic_block:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[file.pk] = (stamp, found)
    return found


def outlines(user: User, character: Character) -> list[Outline]:
    """Those of all memory files of a character."""
    return [outline_of(file) for file in MemoryFile.objects.for_user(user).filter(character=character)]


def _blocks(file: MemoryFile) -> tuple[BlockFacts, ...]:
    bullets = Memory.objects.filter(block=OuterRef("pk"), is_topic=False).order_by().values("block")
    count = Coalesce(Subquery(bullets.annotate(n=Count("*")).values("n")), 0)
    rows = file.blocks.annotate(bullets=count, born=Cast("created_at", CharField()))
    facts = rows.order_by("order", "created_at", "pk").values_list("pk", "order", "born", "origin", "chat", "bullets")
    return tuple(BlockFacts(*row) for row in facts)


def _casts(file: MemoryFile) -> dict[str, int]:
    tags = file.blocks.filter(memories__is_topic=True).order_by().values_list("memories__text", flat=True)
    return Counter(topic_parts(text)[0] for text in tags)
