"""The counter of free slots loses no wake-up."""

from __future__ import annotations

from jobs.slots import Slots


def test_slots_are_limited() -> None:
    slots = Slots(2)
    assert [slots.enter(), slots.enter(), slots.enter()] == [True, True, False]


def test_who_came_in_vain_makes_the_next_who_leaves_look_once_more() -> None:
    slots = Slots(1)
    assert slots.enter()
    assert not slots.enter()
    assert not slots.leave()
    assert slots.leave()
    assert slots.enter()
