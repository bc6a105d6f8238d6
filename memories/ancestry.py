"""What a memory replaced, through any number of consolidations, conversions and merges."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from memories.ancestors import facts_of
from memories.models import Ancestor, Memory
from providers.models import Call

BATCH = 500
MOST = 20_000  # bullets; a chain that long was not made by a person


@dataclass(frozen=True)
class Source:
    """One bullet that was replaced, as it stood then. `depth` 1 = replaced by the memory itself; `call` made it."""

    id: str
    text: str
    depth: int
    parents: tuple[str, ...]
    evidence: list[dict[str, Any]]
    facts: dict[str, Any]
    chat_id: UUID | None
    job_id: UUID | None
    replaced_at: datetime | None  # None: the bullet stands in a file (again)
    call: Call | None

    @property
    def is_leaf(self) -> bool:
        return not self.parents


@dataclass
class Ancestry:
    """All that a memory replaced: nearest first, each bullet and wording once. `missing` are ids nobody kept."""

    sources: list[Source] = field(default_factory=list)
    missing: int = 0

    @property
    def leaves(self) -> list[Source]:
        """The bullets at the beginning: they replaced nothing."""
        return [source for source in self.sources if source.is_leaf]


def ancestry(user: User, memory: Memory) -> Ancestry:
    """Walk back from `memory`. Two queries for each round; a circle is walked once."""
    found, seen = Ancestry(), {str(memory.pk)}
    wanted, depth = _new(memory.parents, seen), 1
    while wanted and len(found.sources) < MOST:
        sources = _sources(user, wanted, depth)
        found.sources += sources
        found.missing += len(set(wanted) - {source.id for source in sources})
        wanted = _new([one for source in sources for one in source.parents], seen)
        depth += 1
    return found


def _new(ids: list[Any], seen: set[str]) -> list[str]:
    """The ids that were not walked yet, in their order; they count as walked from now on."""
    fresh = [one for one in dict.fromkeys(str(one) for one in ids) if one not in seen and _is_id(one)]
    seen.update(fresh)
    return fresh


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _sources(user: User, ids: list[str], depth: int) -> list[Source]:
    rows: dict[str, list[Source]] = {}
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        for row in _kept(user, part):
            rows.setdefault(str(row.memory), []).append(_of_ancestor(row, depth))
        rest = [one for one in part if one not in rows]
        related = ("block__chat", "block__call")
        for memory in Memory.objects.for_user(user).filter(pk__in=rest).select_related(*related) if rest else ():
            rows[str(memory.pk)] = [_of_memory(memory, depth)]
    return [source for one in ids for source in _once(rows.get(one, []))]


def _kept(user: User, ids: list[str]) -> QuerySet[Ancestor]:
    rows = Ancestor.objects.for_user(user).filter(memory__in=ids)
    return rows.select_related("call").order_by("replaced_at", "pk")


def _once(sources: list[Source]) -> list[Source]:
    """The same bullet may have been kept in several files; each wording counts once."""
    return list({source.text: source for source in sources}.values())


def _of_ancestor(row: Ancestor, depth: int) -> Source:
    parents = tuple(str(one) for one in row.parents)
    links = (row.chat_id, row.job_id, row.replaced_at, row.call)
    return Source(str(row.memory), row.text, depth, parents, row.evidence, row.facts, *links)


def _of_memory(memory: Memory, depth: int) -> Source:
    block = memory.block
    parents = tuple(str(one) for one in memory.parents)
    links = (block.chat_id, block.job_id, None, block.call)
    return Source(str(memory.pk), memory.text, depth, parents, memory.evidence, facts_of(block), *links)
