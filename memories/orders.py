"""Places in a sequence as numbers with room between them: whoever is put in between touches no other row (pure)."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 1e-6  # neighbours nearer than this are spread out before anything is put between them
NEIGHBOURS = 8  # by how many rows a crowded stretch is widened on each side, until there is room


def between(orders: Sequence[float], position: int) -> tuple[float, dict[int, float]]:
    """A number for a row put at `position` (0 = first) of the rising `orders`.

    Also the new numbers of rows that had to make room: {their place in `orders`: number}, nearly always empty.
    """
    position = max(0, min(position, len(orders)))
    low = orders[position - 1] if position else None
    high = orders[position] if position < len(orders) else None
    if low is None or high is None:
        return (0.0 if high is None else high - 1) if low is None else low + 1, {}
    if high - low > 2 * GAP:
        return (low + high) / 2, {}
    return _spread(orders, position)


def _spread(orders: Sequence[float], position: int) -> tuple[float, dict[int, float]]:
    """Widen the crowded stretch until its rows and the new one fit with room to spare."""
    first = last = position
    while True:
        first, last = max(0, first - NEIGHBOURS), min(len(orders), last + NEIGHBOURS)
        count = last - first + 1
        low = orders[first - 1] if first else orders[min(last, len(orders) - 1)] - count - 1
        high = orders[last] if last < len(orders) else low + count + 1
        step = (high - low) / (count + 1)
        if step > 2 * GAP:
            break
    numbers = [low + step * place for place in range(1, count + 1)]
    own = numbers.pop(position - first)
    return own, {first + place: number for place, number in enumerate(numbers)}
