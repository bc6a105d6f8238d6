"""Dates that memories name, and the geometry of the timeline."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.story_dates import StoryDate, find_date
from memories.timeline_chart import MOST_BARS, WIDTH, Scale, even_bars, silences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("On 14 March 1312 she swore.", StoryDate(0, 1312, 3, 14)),
        ("[Seraphine — March 14th, 1312]", StoryDate(0, 1312, 3, 14)),
        ("In March 1312 it froze.", StoryDate(0, 1312, 3)),
        ("1312年3月14日她搬到了海边", StoryDate(0, 1312, 3, 14)),
        ("1312-03-14: the oath", StoryDate(0, 1312, 3, 14)),
        ("Born in the year 1288.", StoryDate(0, 1288)),
        ("Day 12 began with rain.", StoryDate(12)),
        ("On day three they rested.", StoryDate(3)),
        ("The 4th of May, a feast", StoryDate(0, 0, 5, 4)),
        ("He may 3 times try, in room 2024.", None),
        ("209 steps", None),
    ],
)
def test_dates_are_read(text: str, found: StoryDate | None) -> None:
    assert find_date(text) == found


@given(st.text(max_size=200))
def test_reading_a_date_never_fails(text: str) -> None:
    found = find_date(text)
    assert found is None or str(found)


DAYS = st.lists(st.dates(date(1990, 1, 1), date(2030, 12, 31)), min_size=1, max_size=60)


@given(DAYS)
def test_every_memory_is_in_exactly_one_bar_inside_the_drawing(days: list[date]) -> None:
    scale = Scale.over(days)
    assert scale is not None
    bars = scale.bars(Counter(days), days[:1])
    assert sum(bar.count for bar in bars) == len(days)
    assert len(bars) <= MOST_BARS
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH + 1 for bar in bars)
    assert sum(bar.is_shown for bar in bars) == 1
    assert 1 <= len(scale.months()) <= 12


@given(DAYS)
def test_a_silence_lies_between_two_days_with_memories(days: list[date]) -> None:
    for first, last in silences(days):
        assert {first - timedelta(days=1), last + timedelta(days=1)} <= set(days)
        assert not any(first <= day <= last for day in days)


def test_without_days_there_is_no_scale_and_even_bars_stand_in_order() -> None:
    assert Scale.over([]) is None
    assert [bar.x for bar in even_bars([1, 4, 2], {1})] == [0, 333.3, 666.7]
    assert [bar.is_shown for bar in even_bars([1, 4, 2], {1})] == [False, True, False]
