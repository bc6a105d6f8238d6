"""The map of a chat: which stretches are read, unread, absent or hidden, and where memories came from (pure)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

MOST_RUNS = 400  # what a picture a thousand pixels wide can show


@dataclass(frozen=True)
class Run:
    """`width` messages from number `start` on, all of one kind."""

    kind: str
    start: int
    width: int


@dataclass
class ChatMap:
    """One picture as wide as the chat has messages."""

    total: int
    bar: list[Run] = field(default_factory=list)  # read, unread, absent
    hidden: list[Run] = field(default_factory=list)
    memories: list[Run] = field(default_factory=list)
    injected: list[Run] = field(default_factory=list)

    @property
    def has_absent(self) -> bool:
        return any(run.kind == "absent" for run in self.bar)

    @property
    def first_gap(self) -> int | None:
        """Where the first of the gaps begins."""
        return next((run.start for run in self.bar if run.kind == "unread"), None) if self.gaps else None

    @property
    def gaps(self) -> int:
        """Unread stretches with something read behind them."""
        kinds = [run.kind for run in self.bar]
        return sum(kind == "unread" and "read" in kinds[place + 1 :] for place, kind in enumerate(kinds))


def runs(kinds: Sequence[str]) -> list[Run]:
    """Equal neighbours together; where there are more than can be seen, each piece shows its most urgent kind."""
    if len(kinds) > MOST_RUNS and sum(a != b for a, b in pairwise(kinds)) > MOST_RUNS:
        size = -(-len(kinds) // MOST_RUNS)
        kinds = [kind for start in range(0, len(kinds), size) for kind in _coarse(kinds[start : start + size])]
    found, start = [], 0
    for kind, group in groupby(kinds):
        width = len(list(group))
        if kind:
            found.append(Run(kind, start, width))
        start += width
    return found


def _coarse(piece: Sequence[str]) -> list[str]:
    """`unread` wins over everything, anything over nothing."""
    kind = "unread" if "unread" in piece else max(set(piece), key=lambda one: (bool(one), piece.count(one), one))
    return [kind] * len(piece)


def ticks(kind: str, numbers: Iterable[int], total: int) -> list[Run]:
    """Runs for these message numbers."""
    wanted = {number for number in numbers if 0 <= number < total}
    return runs([kind if number in wanted else "" for number in range(total)]) if wanted else []


def bar(total: int, unread: Collection[int], absent: Collection[int]) -> list[Run]:
    """The whole chat as read, unread or absent."""
    kinds = ["read"] * total
    for number in absent:
        if 0 <= number < total:
            kinds[number] = "absent"
    for number in unread:
        if 0 <= number < total:
            kinds[number] = "unread"
    return runs(kinds)
