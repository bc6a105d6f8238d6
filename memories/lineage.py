"""Chats of one family share their beginning: what was read in one need not be read again in another (pure)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

C = TypeVar("C", bound=Hashable)
T = TypeVar("T")


def shared_prefixes(chat: C, forks: Iterable[tuple[C, C | None, int | None]]) -> Mapping[C, int]:
    """For each relative of `chat`: the last message number that both have in common.

    `forks` lists (chat, parent, last number shared with the parent; None: they begin otherwise by now, which counts as
    -1). Along a way through the family the smallest number counts.
    """
    near: dict[C, list[tuple[C, int]]] = defaultdict(list)
    for child, parent, fork in forks:
        if parent is not None:
            shared = -1 if fork is None else fork
            near[child].append((parent, shared))
            near[parent].append((child, shared))
    reach: dict[C, int] = {}
    ways = [(other, fork) for other, fork in near[chat]]
    while ways:
        other, shared = ways.pop()
        if other == chat or reach.get(other, -2) >= shared:
            continue
        reach[other] = shared
        ways += [(further, min(shared, fork)) for further, fork in near[other]]
    return reach


def parents_first(rows: Sequence[T], key: Callable[[T], C], parent: Callable[[T], C | None]) -> list[T]:
    """The rows in their order, but each behind its parent, as far as that is among them."""
    present = {key(row): row for row in rows}
    placed: dict[C, T] = {}
    for row in rows:
        way: dict[C, T] = {}
        above: T | None = row
        while above is not None and key(above) not in placed and key(above) not in way:
            way[key(above)] = above
            name = parent(above)
            above = None if name is None else present.get(name)
        for name, one in reversed(way.items()):
            placed[name] = one
    return list(placed.values())
