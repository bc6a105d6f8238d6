"""Memories that make themselves: a chat saved in SillyTavern, seen, counted, read, with nobody watching."""

from __future__ import annotations

import json
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
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel
from jobs.models import Job
from jobs.registry import periodics
from memories import automatic, automatic_rules, choosing, extraction
from memories.automatic_state import AutoState, state_of
from memories.chosen import choices_for, own_values
from memories.models import Activity, ChatActivity, ExtractionSettings, Memory
from providers.models import Call, Connection
from sync.models import Character, Chat, Group
from tests.support.builders import make_call, make_connection
from tests.support.fake_model import FakeModel
from tests.support.house import NEW, House, exchange
from tests.support.pages import soup, toast, words
from tests.support.st_folder import MARA, StFolder

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
GROUP_CHAT = "group chats/2025-06-18@20h00m00s000ms.jsonl"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(NOON, tick=True) as traveller:
        yield traveller


@pytest.fixture
def house(alice: User, fake: FakeModel, clock: Any, tmp_path: Path) -> House:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return House(alice, tmp_path / "wren")


def jobs(user: User) -> list[Job]:
    return list(Job.objects.for_user(user).filter(kind__startswith="extract").order_by("created_at"))


def queued(user: User) -> list[Job]:
    return [job for job in jobs(user) if job.state == Job.State.QUEUED]


def chosen(user: User, **values: Any) -> None:
    choosing.change_settings(user, values)


def state(house: House, whose: Character | Group | None = None) -> AutoState:
    return state_of(house.tavern.owner, whose or house.mara)


def later(clock: Any, **time: float) -> None:
    """Time passes, and the clock looks at what is due."""
    clock.shift(timedelta(**time))
    automatic.sweep()


def test_a_saved_chat_becomes_memories_with_nobody_watching(alice: User, house: House, fake: FakeModel) -> None:
    house.talk(19)
    assert not jobs(alice)
    assert state(house).words == "19 of 20 messages"
    house.talk(1)
    (job,) = queued(alice)
    assert job.params["automatic"] is True
    assert job.label == "Extract Mara Veldt"
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == Job.State.DONE
    with unscoped("what was kept"):
        kept = Memory.objects.filter(block__chat=job.params["chats"][0]).values_list("text", flat=True)
        assert any("lantern number" in text for text in kept)
    with unscoped("what was asked"):
        assert set(Call.objects.values_list("is_automatic", flat=True)) == {True}
    assert state(house).words == "0 of 20 messages"
    house.watch()
    automatic.sweep()
    assert len(jobs(alice)) == 1, "nothing is read twice"


def test_what_was_there_when_the_folder_was_linked_is_not_begun(alice: User, house: House) -> None:
    chosen(alice, interval=3)
    automatic.sweep()
    assert not jobs(alice)
    with unscoped("what is known of them"):
        assert ChatActivity.objects.count() == house.tavern.chats.count()
        assert not ChatActivity.objects.filter(new_at__isnull=False).exists()
    assert "waiting for your first Extract" in state(house).words
    house.talk(1, MARA)
    assert len(queued(alice)) == 1, "something new was said"


def test_a_folder_that_could_not_be_opened_at_first_is_read_for_the_first_time_later(
    alice: User, fake: FakeModel, clock: Any, tmp_path: Path
) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    chosen(alice, interval=3)
    folder = StFolder(alice, tmp_path / "wren")
    folder.root.rename(tmp_path / "away")
    folder.look()
    (tmp_path / "away").rename(folder.root)
    clock.shift(60)
    assert folder.look().chats
    assert not jobs(alice)


def test_swipes_and_words_of_the_person_do_not_count(alice: User, house: House) -> None:
    chat = house.talk(19)
    for number in range(3):

        def swipe(lines: list[dict[str, Any]], number: int = number) -> None:
            lines[-1] |= {"mes": f"Another answer, {number}.", "swipes": ["a", "b"], "swipe_id": number % 2}

        house.change(swipe, NEW)
        house.watch()
    lines = house.lines(NEW)
    for n in range(5):
        lines.append(exchange(900 + n, "Mara Veldt", "")[0])
    house.write(NEW, lines)
    house.watch()
    assert not jobs(alice)
    assert state(house).words == "19 of 20 messages"
    chat.refresh_from_db()
    assert chat.message_count == 43


def test_the_cool_down_begins_with_any_reading_also_one_by_hand(alice: User, house: House, clock: Any) -> None:
    chat = house.talk(5)
    extraction.start_extraction(alice, character=house.mara, chat=chat)
    run_until_idle(alice)
    clock.shift(timedelta(minutes=3))
    house.talk(20)
    assert not queued(alice)
    assert state(house).words == "cool-down 7 min"
    later(clock, minutes=6)
    assert not queued(alice)
    house.talk(40)
    later(clock, minutes=2)
    run_until_idle(alice)
    with unscoped("how it was read"):
        calls = Call.objects.filter(is_automatic=True).count()
    assert calls == 6, "60 replies and 60 words of the person, 20 messages a call"
    with unscoped("the log"):
        said = list(Activity.objects.filter(step__in=("waits", "began")).order_by("pk").values_list("text", flat=True))
    assert said[0] == "Not read yet: cool-down 7 min."
    assert "Read by itself: 60 new messages." in said


def test_nothing_is_read_in_quiet_hours_by_the_persons_own_clock(alice: User, house: House, clock: Any) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Europe/Berlin")
    chosen(alice, quiet_from="23:00", quiet_until="07:00")
    clock.move_to(datetime(2026, 12, 1, 22, 30, tzinfo=UTC))
    house.talk(20)
    assert not jobs(alice)
    house.tavern.owner.refresh_from_db()
    assert state(house).words == "quiet until 07:00"
    clock.move_to(datetime(2026, 12, 2, 5, 59, tzinfo=UTC))
    automatic.sweep()
    assert not jobs(alice)
    clock.move_to(datetime(2026, 12, 2, 6, 0, 1, tzinfo=UTC))
    automatic.sweep()
    assert len(queued(alice)) == 1


def test_it_waits_until_nobody_has_written_anywhere(alice: User, house: House, clock: Any) -> None:
    chosen(alice, idle_minutes=5)
    house.talk(20)
    assert state(house).words == "waits until nobody has written for 5 min"
    clock.shift(timedelta(minutes=4))
    house.talk(1, MARA)
    later(clock, minutes=2)
    assert not jobs(alice), "somebody wrote in another chat"
    later(clock, minutes=4)
    assert len(queued(alice)) == 1


def test_a_long_chat_that_no_model_read_waits_for_the_first_extract(alice: User, house: House, clock: Any) -> None:
    chat = house.talk(150)
    assert not jobs(alice)
    found = state(house)
    assert (found.kind, found.words) == ("backlog", "318 unread messages are waiting for your first Extract")
    chosen(alice, reads_backlog=True)
    automatic.sweep()
    assert len(queued(alice)) == 1
    run_until_idle(alice)
    chosen(alice, reads_backlog=False)
    clock.shift(timedelta(hours=1))
    house.talk(120)
    assert len(queued(alice)) == 1, "it was read before: what piled up is no backlog"
    assert Job.objects.for_user(alice).filter(params__chats=[str(chat.pk)]).count() == 2


def test_the_daily_budget_stops_what_is_read_by_itself_until_midnight(alice: User, house: House, clock: Any) -> None:
    chosen(alice, daily_budget=Decimal("0.10"))
    make_call(alice, cost="0.50")
    make_call(alice, cost="0.10", is_automatic=True)
    house.talk(20)
    assert state(house).words == "budget reached, goes on tomorrow"
    later(clock, hours=11)
    assert not jobs(alice)
    later(clock, hours=2)
    assert len(queued(alice)) == 1


def test_a_character_with_a_budget_of_its_own_is_counted_alone(alice: User, house: House) -> None:
    choosing.set_own(alice, house.mara, {"daily_budget": Decimal("0.05")}, among=["daily_budget"])
    make_call(alice, cost="3", is_automatic=True, subject="character:somebody-else")
    house.talk(20)
    assert len(queued(alice)) == 1
    run_until_idle(alice)
    make_call(alice, cost="0.05", is_automatic=True, subject=f"character:{house.mara.pk}/chat:x")
    house.talk(20)
    with unscoped("why"):
        assert set(ChatActivity.objects.filter(chat__path=NEW).values_list("verdict", flat=True)) == {"cooldown"}
    with time_machine.travel(NOON + timedelta(hours=1)):
        automatic.sweep()
        assert state(house).kind == automatic_rules.BUDGET


def test_a_failure_rests_and_says_when_it_is_tried_again(
    alice: User, house: House, fake: FakeModel, clock: Any
) -> None:
    chosen(alice, cooldown_minutes=0)
    fake.respond(401, {"error": {"message": "no"}})
    house.talk(20)
    run_until_idle(alice)
    assert [job.state for job in jobs(alice)] == [Job.State.FAILED]
    later(clock, minutes=2)
    assert state(house).words == "did not work, next try at 12:10"
    later(clock, minutes=5)
    house.talk(1)
    assert len(jobs(alice)) == 1
    later(clock, minutes=9)
    assert len(queued(alice)) == 1
    run_until_idle(alice)
    assert state(house).words == "0 of 20 messages", "the count was not lost by the failure"


def test_a_stopped_reading_is_not_begun_again_at_once(alice: User, house: House, clock: Any) -> None:
    chosen(alice, cooldown_minutes=0)
    house.talk(20)
    request_cancel(queued(alice)[0])
    later(clock, minutes=2)
    assert not queued(alice)
    assert state(house).words.startswith("stopped by you, next at 12:")
    later(clock, minutes=10)
    assert len(queued(alice)) == 1


def test_the_newest_messages_are_left_alone_and_not_counted_again(alice: User, house: House, clock: Any) -> None:
    chosen(alice, leaves_newest=True, newest=4, cooldown_minutes=0)
    house.talk(20)
    run_until_idle(alice)
    assert state(house).words == "0 of 20 messages"
    mark = house.mara.watermarks.get(chat__path=NEW)
    assert mark.index == 35, "four of forty"
    house.talk(19)
    assert not queued(alice)
    house.talk(1)
    assert len(queued(alice)) == 1


def test_one_character_may_have_values_of_its_own(alice: User, house: House) -> None:
    choosing.set_own(alice, house.mara, {"interval": 3}, among=["interval"])
    house.talk(3)
    assert len(queued(alice)) == 1
    assert choices_for(alice).interval == 20


def test_switched_off_nothing_is_read_and_switched_on_it_goes_on(alice: User, house: House) -> None:
    choosing.switch(alice, house.mara, is_on=False)
    house.talk(30)
    assert not jobs(alice)
    assert (state(house).words, state(house).is_on) == ("off", False)
    choosing.switch(alice, house.mara, is_on=True)
    assert own_values(alice, house.mara) == {}
    automatic.sweep()
    assert len(queued(alice)) == 1


def test_without_a_model_it_waits_for_one(alice: User, house: House, fake: FakeModel, clock: Any) -> None:
    Connection.objects.for_user(alice).delete()
    house.talk(20)
    assert not jobs(alice)
    assert state(house).words == "no model yet"
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    later(clock, minutes=6)
    assert len(queued(alice)) == 1


def test_a_folder_that_was_unlinked_is_left_alone(alice: User, house: House, clock: Any) -> None:
    chosen(alice, idle_minutes=5)
    house.talk(20)
    house.tavern.unlinked_at = NOON
    house.tavern.save()
    later(clock, minutes=10)
    assert not jobs(alice)
    with unscoped("nothing is looked at again"):
        assert not ChatActivity.objects.filter(look_at__isnull=False).exists()


def test_in_a_group_the_replies_of_all_members_count(alice: User, house: House) -> None:
    chosen(alice, interval=6)
    house.talk(2, GROUP_CHAT, avatar="Mara Veldt.png")
    seen = state(house, house.group)
    house.talk(6, GROUP_CHAT, name="Żółta Ćma 蛾子", avatar="Żółta Ćma 蛾子.png")
    assert seen.threshold == 6
    read_for = {job.params["character"] for job in jobs(alice) if "character" in job.params}
    assert len(read_for) == 3, "a job for each member"
    run_until_idle(alice)
    assert {job.state for job in jobs(alice)} == {Job.State.DONE}
    assert state(house, house.group).count == 0


def test_a_group_may_be_off_while_its_members_are_not(alice: User, house: House) -> None:
    chosen(alice, interval=3)
    choosing.switch(alice, house.group, is_on=False)
    house.talk(6, GROUP_CHAT, avatar="Mara Veldt.png")
    assert not jobs(alice)
    house.talk(3)
    assert len(queued(alice)) == 1


def test_a_member_who_failed_is_read_for_alone(alice: User, house: House, fake: FakeModel, clock: Any) -> None:
    chosen(alice, interval=6, cooldown_minutes=0)
    house.talk(6, GROUP_CHAT, avatar="Mara Veldt.png")
    first = jobs(alice)
    failing = next(job for job in first if job.params["character"] == str(house.mara.pk))
    request_cancel(failing)
    run_until_idle(alice)
    later(clock, minutes=20)
    again = [job for job in jobs(alice) if job not in first]
    assert [job.params["character"] for job in again] == [str(house.mara.pk)]


def test_many_chats_at_once_are_decided_bit_by_bit(alice: User, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic, "AT_ONCE", 1)
    chosen(alice, interval=3)
    paths = [f"chats/Mara Veldt/Mara Veldt - night {n}.jsonl" for n in range(3)]
    for path in paths:
        lines = [line for n in range(3) for line in exchange(n, "Mara Veldt", "")]
        house.write(path, [{"chat_metadata": {"integrity": path}}, *lines])
    house.watch()
    with unscoped("which were decided"):
        assert ChatActivity.objects.filter(chat__path__in=paths, verdict="").count() == 2
    automatic.sweep()
    with unscoped("which were decided"):
        assert not ChatActivity.objects.filter(chat__path__in=paths, verdict="").exists()


def test_a_chat_that_cannot_be_decided_about_stops_no_other(
    alice: User, house: House, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen(alice, idle_minutes=5)
    broken = house.talk(20)
    house.talk(20, MARA)
    original = automatic.look

    def look(user: User, chat: Chat) -> Any:
        if chat == broken:
            raise RuntimeError("a defect")
        return original(user, chat)

    monkeypatch.setattr(automatic, "look", look)
    later(clock, minutes=6)
    assert len(queued(alice)) == 1
    with unscoped("it is looked at later"):
        assert ChatActivity.objects.get(chat=broken).look_at > datetime.now(UTC)  # type: ignore[operator]


def test_it_is_looked_at_by_the_clock() -> None:
    assert periodics["chats to read"].seconds == 5


def test_a_sweep_of_nothing_is_one_query(house: House, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        automatic.sweep()


def test_bobs_choices_are_not_alices(alice: User, bob: User, house: House) -> None:
    ExtractionSettings.objects.create(user=bob, is_automatic=False, interval=3)
    house.talk(20)
    assert len(queued(alice)) == 1
    assert not jobs(bob)


def test_the_switch_on_the_page(alice: User, alice_client: Client, house: House) -> None:
    page = f"/characters/{house.mara.pk}/"
    button = soup(alice_client.get(page)).select_one(".auto-switch")
    assert button["aria-checked"] == "true"
    alice_client.post(f"{page}auto/", {"on": "0"})
    assert "read only when you press Extract" in words(toast(alice_client))
    assert soup(alice_client.get(page)).select_one(".auto-switch")["aria-checked"] == "false"
    assert own_values(alice, house.mara) == {"is_automatic": False}
    alice_client.post(f"{page}auto/", {"on": "1", "next": f"{page}extraction/"})
    assert own_values(alice, house.mara) == {}


def test_the_bar_says_how_far_it_is_and_what_it_waits_for(
    alice: User, alice_client: Client, house: House, clock: Any
) -> None:
    live = f"/characters/{house.mara.pk}/live/"
    house.talk(14)
    assert "14 of 20" in words(soup(alice_client.get(live)).select_one(".facts")), "also before the first memory"
    house.talk(6)
    run_until_idle(alice)
    house.talk(14)
    shown = soup(alice_client.get(live))
    assert "14 of 20" in words(shown.select_one(".facts"))
    assert shown.select_one(".facts progress")["value"] == "14"
    house.talk(6)
    assert "cool-down 10 min" in words(soup(alice_client.get(live)))


def test_general_values_are_saved_and_checked(alice: User, alice_client: Client) -> None:
    page = "/settings/extraction/"
    form = soup(alice_client.get(page)).select_one("form.stack")
    filled = {one["name"]: one.get("value", "") for one in form.select("input[name]") if one.get("type") != "checkbox"}
    filled |= {"is_automatic": "on", "group_calls": "each"}
    wrong = soup(alice_client.post(page, {**filled, "interval": "2", "quiet_from": "23:00"}), 422)
    assert "greater than or equal to 3" in words(wrong.select_one(".is-bad"))
    assert "need both hours" in words(wrong)
    answer = alice_client.post(page, {**filled, "interval": "35", "quiet_from": "23:00", "quiet_until": "07:00"})
    assert answer.status_code == 302
    found = choices_for(alice)
    assert (found.interval, found.quiet_from, found.quiet_until, found.is_automatic) == (35, "23:00", "07:00", True)


def test_own_values_count_only_with_their_tick_and_go_back_with_one_click(
    alice: User, alice_client: Client, house: House
) -> None:
    for page, whose in (
        (f"/characters/{house.mara.pk}/extraction/", house.mara),
        (f"/groups/{house.group.pk}/extraction/", house.group),
    ):
        alice_client.post(page, {"own_interval": "on", "interval": "40", "lag": "9", "cooldown_minutes": "nonsense"})
        assert own_values(alice, whose) == {"interval": 40}
        row = soup(alice_client.get(page)).select_one(".extraction-row.is-own")
        assert "in general: 20 messages" in words(row)
        alice_client.post(page, {row.button["name"]: row.button["value"]})
        assert own_values(alice, whose) == {}
    wrong = alice_client.post(f"/characters/{house.mara.pk}/extraction/", {"own_interval": "on", "interval": ""})
    assert "take the tick away" in words(soup(wrong, 422))


def test_other_own_values_stay_when_the_form_is_saved(alice: User, alice_client: Client, house: House) -> None:
    choosing.set_own(alice, house.mara, {"gate": {"unsupported": "queue"}}, among=["gate"])
    alice_client.post(f"/characters/{house.mara.pk}/extraction/", {"own_lag": "on", "lag": "2"})
    assert own_values(alice, house.mara) == {"gate": {"unsupported": "queue"}, "lag": 2}
    assert json.dumps(own_values(alice, house.mara))
