"""Numbers are found in any spelling; small ones, which may be words elsewhere, are left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.grounding import numbers


def test_numbers_are_known_in_any_spelling_and_small_ones_are_left_alone() -> None:
    assert numbers("In the year 1312 it cost 1,500 crowns, or 1.500, and 12 lanterns.") == ["1312", "1500"]
    assert numbers("2026-03-01T10:00:00") == ["2026"]


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    assert all(one.isdecimal() for one in numbers(text))
