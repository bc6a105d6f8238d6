"""Which stored message is which line of the changed file.

Stored rows and lines are compared in steps, from certain to likely: equal start and end; same role, date and text;
same role and date (an edit); and last, between the same two neighbours, a swipe or a continuation, which must prove
itself: the stored text or date is among the line's swipes, or the new text begins with the stored one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """What comparing needs of one message. `others` are texts (hashed) and dates of the swipes not chosen."""

    role: str
    raw_date: str
    content: str
    others: frozenset[str] = frozenset()


def align(
    old: Sequence[Key], new: Sequence[Key], continues: Callable[[int, int], bool] | None = None
) -> list[int | None]:
    """For each of `new` the position of the stored row it is, or None when it is a new message.

    `continues(old position, new position)` says whether the new text begins with the stored one; it is asked
    rarely. No stored row is used twice.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    found: list[int | None] = [None] * len(new)
    for place in range(head):
        found[place] = place
    for back in range(1, tail + 1):
        found[-back] = len(old) - back
    free_old = list(range(head, len(old) - tail))
    free_new = list(range(head, len(new) - tail))
    for likeness in (_exact, _same_moment):
        free_old, free_new = _match(old, new, free_old, free_new, likeness, found)
    if free_old and free_new:
        _match_swipes(old, new, set(free_old), free_new, continues, found)
    return found


def _common(old: Sequence[Key], new: Sequence[Key]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if _exact(left) != _exact(right):
            break
        count += 1
    return count


def _exact(key: Key) -> Hashable:
    return key.role, key.raw_date, key.content


def _same_moment(key: Key) -> Hashable:
    return key.role, key.raw_date


def _match(
    old: Sequence[Key],
    new: Sequence[Key],
    free_old: list[int],
    free_new: list[int],
    likeness: Callable[[Key], Hashable],
    found: list[int | None],
) -> tuple[list[int], list[int]]:
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for place in free_old:
        waiting[likeness(old[place])].append(place)
    for place in free_new:
        if queue := waiting.get(likeness(new[place])):
            found[place] = queue.popleft()
    used = {found[place] for place in free_new}
    return [place for place in free_old if place not in used], [place for place in free_new if found[place] is None]


def _match_swipes(
    old: Sequence[Key],
    new: Sequence[Key],
    free_old: set[int],
    free_new: list[int],
    continues: Callable[[int, int], bool] | None,
    found: list[int | None],
) -> None:
    for place in free_new:
        before = found[place - 1] if place else -1
        if before is None:
            continue
        candidate = before + 1
        if candidate not in free_old or old[candidate].role != new[place].role:
            continue
        if _is_swipe(old[candidate], new[place]) or (continues is not None and continues(candidate, place)):
            found[place] = candidate
            free_old.discard(candidate)


def _is_swipe(stored: Key, line: Key) -> bool:
    return stored.content in line.others or (bool(stored.raw_date) and stored.raw_date in line.others)
