"""Places in a sequence: whoever is put in between stands there, and the others keep their order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memories.orders import between


def put(orders: list[float], position: int) -> tuple[list[float], int]:
    """The sequence with one more, and how many others were touched."""
    order, crowded = between(orders, position)
    found = list(orders)
    for place, number in crowded.items():
        found[place] = number
    found.insert(max(0, min(position, len(orders))), order)
    return found, len(crowded)


@given(st.lists(st.floats(-1e6, 1e6), max_size=40).map(sorted), st.integers(0, 45))
def test_the_new_one_stands_where_it_was_put(orders: list[float], position: int) -> None:
    found, _touched = put(orders, position)
    around = found[max(0, position - 1) : position + 2]
    assert all(low < high for low, high in pairwise(around))
    assert all(low <= high for low, high in pairwise(found))


def test_a_thousand_at_the_same_place_rarely_touch_others() -> None:
    orders, touched = [0.0, 1.0], 0
    for _turn in range(1000):
        orders, more = put(orders, 1)
        touched += more
    assert len(set(orders)) == 1002
    assert orders == sorted(orders)
    assert touched < 3000


def test_ends_and_empty() -> None:
    assert between([], 0) == (0.0, {})
    assert between([3.0], 0) == (2.0, {})
    assert between([3.0], 9) == (4.0, {})
    assert between([3.0, 4.0], 1) == (3.5, {})
