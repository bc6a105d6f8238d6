"""No more calls at once than a connection allows, first come first served, and nothing is held by the dead."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from accounts.models import User
from providers import limits
from providers.models import CallSlot, Connection
from providers.transport import TransportError
from tests.support.waiting import wait_until


def make_connection(owner: User, places: int) -> Connection:
    return Connection.objects.create(owner=owner, name="Box", preset="local", max_parallel=places)


def ticket(row: Connection, number: int | None, seconds: float) -> CallSlot:
    return row.slots.create(number=number, expires_at=timezone.now() + timedelta(seconds=seconds))


@pytest.mark.django_db
def test_places_of_the_dead_are_free_again(alice: User) -> None:
    row = make_connection(alice, 1)
    ticket(row, 0, -1)
    with limits.slot(row):
        assert limits.in_flight(row) == 1
    assert row.slots.count() == 0


@pytest.mark.django_db
def test_who_came_first_goes_first_and_waiting_can_be_stopped(alice: User) -> None:
    row = make_connection(alice, 2)
    ticket(row, 0, 60)
    ticket(row, None, 60)  # was here before us and takes the second place
    asked = iter([False, True])
    with pytest.raises(TransportError) as caught, limits.slot(row, lambda: next(asked)):
        pytest.fail("there was no place")
    assert caught.value.kind == "stopped"
    assert row.slots.count() == 2


@pytest.mark.django_db
def test_each_connection_has_its_own_places(alice: User, bob: User) -> None:
    ticket(make_connection(alice, 1), 0, 60)
    mine = make_connection(bob, 1)
    with limits.slot(mine):
        assert limits.in_flight(mine) == 1


@pytest.mark.django_db
def test_a_long_call_keeps_its_place(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RENEWAL_SECONDS", 0.0)
    row = make_connection(alice, 1)
    with limits.slot(row) as tick:
        row.slots.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert limits.in_flight(row) == 0
        assert wait_until(lambda: not tick() and limits.in_flight(row)) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("seconds", "is_passed_on"), [(60.0, True), (0.0, False)])
def test_a_place_goes_to_the_next_caller_here_but_not_for_ever(
    alice: User, monkeypatch: pytest.MonkeyPatch, seconds: float, is_passed_on: bool
) -> None:
    monkeypatch.setattr(limits, "KEEP_SECONDS", seconds)
    row = make_connection(alice, 1)
    used: list[int] = []

    def call() -> None:
        with limits.slot(row):
            used.extend(row.slots.filter(number=0).values_list("pk", flat=True))
        connections.close_all()

    with limits.slot(row):
        mine = row.slots.get(number=0).pk
        others = [threading.Thread(target=call) for _number in range(2)]
        for one in others:
            one.start()
        wait_until(lambda: len(limits._lines[row.pk].callers) == 2 and row.slots.filter(number=None).count() == 1)
    for one in others:
        one.join(20)
    assert len(used) == 2
    assert (used == [mine, mine]) is is_passed_on
    assert row.slots.count() == 0
