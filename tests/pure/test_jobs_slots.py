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


def test_beside_a_process_that_helps_fewer_slots_are_given_out_for_a_while() -> None:
    slots = Slots(3, shared=1)
    assert [slots.enter() for _ in range(3)] == [True, True, True]
    assert not slots.is_one_too_many
    slots.share(60)
    assert slots.is_full and slots.is_one_too_many
    assert not slots.enter()
    assert slots.leave() and slots.leave()  # nobody looks once more while there are too many
    assert not slots.is_one_too_many and not slots.enter()
    assert not slots.leave() and slots.leave()  # the last one does
    slots.share(0)
    assert [slots.enter() for _ in range(3)] == [True, True, True]
