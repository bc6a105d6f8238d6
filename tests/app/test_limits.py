"""No more calls at once than a connection allows, first come first served, and nothing is held by the dead."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import time_machine
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounts.models import User
from providers import limits
from providers.base import ProviderError
from providers.complete import complete
from providers.models import CallSlot, Connection
from providers.transport import TransportError
from tests.support.fake_model import FakeModel
from tests.support.waiting import wait_until
from tests.support.wire import QUESTION, connect, no_pauses


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


def lowered(row: Connection) -> int:
    """What anybody who looks now may have in flight."""
    return limits.allowed(Connection.objects.for_user(row.owner).get(pk=row.pk))


@pytest.mark.django_db
def test_asked_too_often_halves_the_calls_and_time_gives_them_back(alice: User) -> None:
    row = make_connection(alice, 8)
    for number in range(6):
        ticket(row, number, 60)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        limits.ease(row)
        assert lowered(row) == 3
        limits.ease(row)
        assert lowered(row) == 3, "calls that were sent together are refused together"
        clock.shift(15)
        assert lowered(row) == 4
        clock.shift(61)
        assert lowered(row) == 8
        row.slots.filter(number__gte=2).delete()
        limits.ease(row)
        assert lowered(row) == 1
        clock.shift(3600)
        assert lowered(row) == 8


@pytest.mark.django_db
def test_there_is_no_free_place_above_what_is_left(alice: User) -> None:
    row = make_connection(alice, 8)
    for number in (5, 6, 7):
        ticket(row, number, 60)
    Connection.objects.for_user(alice).filter(pk=row.pk).update(lowered_to=3, lowered_at=timezone.now())
    assert limits.allowed(row) == 8 and limits.look_again(row) is None and limits.allowed(row) == 3
    with pytest.raises(TransportError), limits.slot(row, lambda: True):
        pytest.fail("there was no place")
    row.slots.filter(number=7).delete()
    with limits.slot(row):
        assert limits.in_flight(row) == 3


@pytest.mark.django_db(transaction=True)
def test_a_place_is_not_passed_on_when_there_are_fewer_now(alice: User) -> None:
    row = make_connection(alice, 2)
    held = threading.Event()

    def call() -> None:
        with limits.slot(row):
            held.set()
        connections.close_all()

    ticket(row, 1, 60)
    with limits.slot(row):
        other = threading.Thread(target=call)
        other.start()
        wait_until(lambda: row.slots.filter(number=None).count() == 1)
        limits.ease(row)
    wait_until(lambda: limits.in_flight(row) == 1)
    assert not held.is_set()
    row.slots.filter(number=1).delete()
    other.join(20)
    assert held.is_set()


@pytest.mark.django_db
def test_a_429_lowers_and_the_page_says_so(alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    no_pauses(monkeypatch)
    with FakeModel() as fake:
        row = connect(alice, fake, max_parallel=8)
        fake.respond(500, "")
        complete(row, QUESTION)
        assert lowered(row) == 8
        fake.respond(429, "", headers={"Retry-After": "0"})
        complete(row, QUESTION)
        assert lowered(row) == 1
        assert "asked too often, one call at once now" in alice_client.get("/settings/models/").content.decode()
        fake.respond(429, "", headers={"Retry-After": "600"})
        with pytest.raises(ProviderError):
            complete(row, QUESTION)
    assert "asked for a pause" in alice_client.get("/settings/models/").content.decode()
