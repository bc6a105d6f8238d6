"""What must not start by itself: old chats copied in, a restored backup, a clock that was wrong, a call that died."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from accounts.ownership import unscoped
from charmem_site.backup.archive import write
from charmem_site.backup.restoring import restore
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import automatic, choosing
from memories.automatic_state import state_of
from memories.extraction import start_extraction
from memories.models import ChatActivity
from providers.ledger import UNFINISHED
from providers.models import Call, Connection
from tests.support.builders import make_call, make_connection
from tests.support.fake_model import FakeModel
from tests.support.house import NEW, House, exchange
from tests.support.st_folder import MARA

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LONG_AGO = datetime(2024, 5, 1, 10, 0, tzinfo=UTC)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(NOON, tick=True) as traveller:
        yield traveller


@pytest.fixture
def house(alice: User, fake: FakeModel, clock: Any, tmp_path: Path) -> House:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return House(alice, tmp_path / "wren")


def active(user: User) -> list[Job]:
    return list(Job.objects.for_user(user).filter(kind__startswith="extract", state__in=Job.ACTIVE))


def test_old_chats_that_are_copied_into_a_linked_folder_are_not_begun(alice: User, house: House) -> None:
    """A whole archive may come at once; nobody said anything new in it."""
    paths = [f"chats/Mara Veldt/Mara Veldt - archive {n}.jsonl" for n in range(3)]
    for path in paths:
        lines = [line for n in range(30) for line in exchange(n, "Mara Veldt", "", LONG_AGO)]
        house.write(path, [{"chat_metadata": {"integrity": path}}, *lines])
    house.watch()
    automatic.sweep()
    assert not active(alice)
    with unscoped("what is known of them"):
        assert not ChatActivity.objects.filter(chat__path__in=paths, new_at__isnull=False).exists()
    house.talk(1, paths[0])
    assert len(active(alice)) == 1, "something new was said in one of them"


def test_a_chat_without_any_date_is_new(alice: User, house: House) -> None:
    lines = [{**line, "send_date": ""} for n in range(20) for line in exchange(n, "Mara Veldt", "")]
    house.write("chats/Mara Veldt/undated.jsonl", [{"chat_metadata": {}}, *lines])
    house.watch()
    assert len(active(alice)) == 1


def test_after_a_restore_nothing_is_read_by_itself_until_something_new_is_said(
    alice: User, house: House, clock: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    choosing.change_settings(alice, {"idle_minutes": 5})
    house.talk(20)
    house.talk(25, MARA)
    assert not active(alice)
    backup = write(tmp_path / "b.zip").path
    clock.shift(timedelta(hours=1))
    restore(backup)
    automatic.sweep()
    assert not active(alice), "before its first pass"
    house.watch()
    clock.shift(timedelta(hours=1))
    automatic.sweep()
    assert not active(alice), "after it"
    house.talk(1)
    clock.shift(timedelta(minutes=6))
    automatic.sweep()
    assert [job.params["chats"] for job in active(alice)] == [[str(house.chat(NEW).pk)]]


def test_jobs_that_a_restore_stopped_have_an_end(alice: User, house: House, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    house.talk(20)
    assert len(active(alice)) == 1
    restore(write(tmp_path / "b.zip").path)
    job = Job.objects.for_user(alice).get(kind="extract")
    assert job.state == Job.State.CANCELLED and job.finished_at is not None
    assert not job.worker


def test_a_clock_that_was_set_back_does_not_hold_up_reading_for_a_year(alice: User, house: House, clock: Any) -> None:
    clock.move_to(NOON + timedelta(days=365))
    house.talk(20)
    run_until_idle(alice)
    clock.move_to(NOON + timedelta(minutes=1))
    house.talk(20)
    assert len(active(alice)) == 1


def test_a_call_that_died_does_not_use_up_the_day(alice: User, house: House, clock: Any) -> None:
    choosing.change_settings(alice, {"daily_budget": Decimal("0.10")})
    make_call(alice, cost=None, reserved=Decimal("0.50"), is_automatic=True, error_type=UNFINISHED)
    house.talk(20)
    assert state_of(alice, house.mara).kind == "budget", "it may still run"
    clock.shift(timedelta(hours=2))
    automatic.sweep()
    house.talk(1)
    assert len(active(alice)) == 1


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_a_save_that_is_seen_half_written_is_no_news(alice: User, house: House, kept: int) -> None:
    choosing.change_settings(alice, {"interval": 3})
    whole = (house.root / MARA).read_bytes()
    lines = whole.split(b"\n")
    (house.root / MARA).write_bytes(b"\n".join(lines[: 1 + kept]))
    house.watch()
    (house.root / MARA).write_bytes(whole)
    house.watch()
    automatic.sweep()
    assert not active(alice)


def test_a_long_reading_ends_where_the_days_budget_does(
    alice: User, alice_client: Client, house: House, clock: Any
) -> None:
    """It holds two calls; the rest is read the next day, and a person may read it at once."""
    with unscoped("a model with a price"):
        Connection.objects.update(price_in="1000", price_out="1000")
    choosing.change_settings(alice, {"daily_budget": Decimal(5), "cooldown_minutes": 0})
    house.talk(60)
    run_until_idle(alice)
    with unscoped("what was paid"):
        calls = Call.objects.filter(is_automatic=True)
        first, paid = calls.count(), sum(one.cost or 0 for one in calls)
        reserved = max(one.reserved or 0 for one in calls)
    assert 1 <= first < 6, "six calls would read all of it"
    assert paid <= 5 < paid + reserved, "the call that could pass it was not made"
    clock.shift(timedelta(minutes=2))
    automatic.sweep()
    assert not active(alice) and state_of(alice, house.mara).kind == "budget"
    live = alice_client.get(f"/characters/{house.mara.pk}/live/").content.decode()
    assert "budget reached, goes on tomorrow" in live
    clock.shift(timedelta(days=1))
    automatic.sweep()
    assert len(active(alice)) == 1
    start_extraction(alice, character=house.mara, chat=house.chat(NEW))
    run_until_idle(alice)
    assert state_of(alice, house.mara).count == 0
