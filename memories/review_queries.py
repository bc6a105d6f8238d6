"""What waits in the review queues of a person's characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from memories.models import HeldMemory, Memory, MemoryFile, ReviewPair
from memories.review_words import reason_words
from sync.models import Character

PAIRS_A_PAGE = 50
KINDS = ("unverified", "held", "duplicates", "changed", "superseded")
PAIR_KINDS = {"duplicates": ReviewPair.Kind.DUPLICATE, "superseded": ReviewPair.Kind.SUPERSEDED}
FLAGS = {"unverified": Q(is_unverified=True), "changed": Q(is_source_changed=True)}
WAITING = Q(state=HeldMemory.State.WAITING)
_BY_KIND = {name: Q(kind=value) for name, value in PAIR_KINDS.items()}


@dataclass(frozen=True)
class ReviewCounts:
    """How many memories or pairs wait in each queue."""

    unverified: int = 0
    duplicates: int = 0
    changed: int = 0
    superseded: int = 0
    held: int = 0

    @property
    def total(self) -> int:
        return sum(self.of(kind) for kind in KINDS)

    @property
    def first(self) -> str:
        """The first queue in which something waits, "" when nothing does."""
        return next((kind for kind in KINDS if self.of(kind)), "")

    def of(self, kind: str) -> int:
        """The count of one queue by its name in addresses."""
        return int(getattr(self, kind))


@dataclass(frozen=True)
class PairRow:
    """Two memories side by side."""

    pair: ReviewPair
    older: Memory
    newer: Memory

    @property
    def reason(self) -> str:
        return reason_words(self.pair.reason)

    @property
    def merged(self) -> str:
        """What the text for a merge begins with: the longer wording."""
        return max((self.newer.text, self.older.text), key=len)


def counts(user: User, character: Character) -> ReviewCounts:
    """What waits for one character; three queries."""
    return counts_of(user, [character.pk]).get(character.pk, ReviewCounts())


def counts_of(user: User, characters: Sequence[UUID] | None = None) -> dict[UUID, ReviewCounts]:
    """What waits, by character; of all characters when none are named. Characters with nothing are left out."""
    memories: QuerySet[Any] = Memory.objects.for_user(user).filter(
        FLAGS["unverified"] | FLAGS["changed"], is_topic=False
    )
    pairs: QuerySet[Any] = _open(user)
    held: QuerySet[Any] = HeldMemory.objects.for_user(user).filter(WAITING)
    if characters is not None:
        memories = memories.filter(block__file__character__in=characters)
        pairs = pairs.filter(file__character__in=characters)
        held = held.filter(file__character__in=characters)
    found: dict[UUID, dict[str, int]] = {}
    for rows, field, queues in (
        (memories, "block__file__character", FLAGS),
        (pairs, "file__character", _BY_KIND),
        (held, "file__character", {"held": WAITING}),
    ):
        tallies = {kind: Count("pk", filter=wanted) for kind, wanted in queues.items()}
        for character, *each in rows.order_by().values(field).annotate(**tallies).values_list(field, *queues):
            found.setdefault(character, {}).update(zip(queues, each, strict=True))
    return {character: ReviewCounts(**each) for character, each in found.items()}


def memories_to_check(user: User, character: Character, kind: str, page: str | None) -> Page[Memory]:
    """One page of the unverified memories, or of those whose source changed; oldest first."""
    rows = Memory.objects.for_user(user).filter(FLAGS[kind], block__file__character=character, is_topic=False)
    rows = rows.select_related("block__file", "block__chat").order_by("block__file", "block__order", "order", "pk")
    return Paginator(rows, PAIRS_A_PAGE).get_page(page)


def held_to_check(user: User, character: Character) -> QuerySet[HeldMemory]:
    """The bullets that a check held back and nobody decided, oldest first."""
    rows = HeldMemory.objects.for_user(user).filter(WAITING, file__character=character)
    return rows.select_related("chat", "file").order_by("created_at", "pk")


def pairs_to_check(user: User, character: Character, kind: str, page: str | None) -> Page[ReviewPair]:
    """One page of open pairs, the most alike first."""
    rows = _open(user).filter(file__character=character, kind=PAIR_KINDS[kind])
    return Paginator(rows.order_by("-score", "created_at", "pk"), PAIRS_A_PAGE).get_page(page)


def pair_rows(user: User, pairs: Sequence[ReviewPair]) -> list[PairRow]:
    """The pairs with their memories; one query."""
    wanted = {one for pair in pairs for one in (pair.older, pair.newer)}
    rows = Memory.objects.for_user(user).filter(pk__in=wanted).select_related("block__file", "block__chat")
    by_id = {row.pk: row for row in rows}
    return [PairRow(one, by_id[one.older], by_id[one.newer]) for one in pairs if {one.older, one.newer} <= by_id.keys()]


def is_behind(user: User, character: Character) -> bool:
    """Whether some memories were not compared yet."""
    rows = MemoryFile.objects.for_user(user).filter(character=character, version__gt=0)
    return rows.exclude(version=F("reviewed_version")).exists()


def _open(user: User) -> QuerySet[ReviewPair]:
    """Pairs nobody decided, of which both memories still exist."""
    older, newer = (Exists(Memory.objects.for_user(user).filter(pk=OuterRef(name))) for name in ("older", "newer"))
    return ReviewPair.objects.for_user(user).filter(older, newer, decision="")
