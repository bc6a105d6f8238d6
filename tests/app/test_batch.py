"""Many chats in one go: chosen from a tree with prices, a part for each character, all kept whatever happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import User
from jobs import holding
from jobs.chunk import run_next
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel, retry
from jobs.models import Job
from memories import batch_report, batch_start, batch_tree, extraction
from memories.models import ExtractedChunk, ExtractionOverride, ExtractionSettings
from memories.reset_cost import cost_of_reading, total
from memories.unread import unread_by_character, unread_by_group
from providers.models import Connection, ModelListing
from sync.models import Character, Group
from tests.support.builders import make_character, make_chat, make_connection, make_group, make_job, make_tavern
from tests.support.fake_model import FakeModel
from tests.support.pages import soup, words

GOOD = "<memory>\n- [Odo — a line]\n- Odo heard line 1 of the story.\n</memory>"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with(GOOD)
        yield server


@pytest.fixture
def three(alice: User, fake: FakeModel) -> list[Character]:
    """Three characters with two chats each."""
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=1, price_out=2)
    ExtractionSettings.objects.create(user=alice, messages_per_call=10, asks_present_only=False)
    tavern = make_tavern(alice)
    made = [make_character(tavern, name) for name in ("Odo", "Mara", "Quill")]
    for character in made:
        make_chat(character, 12)
        make_chat(character, 30)
    return made


@pytest.fixture
def table(three: list[Character]) -> Group:
    group = make_group(three[0].tavern, three[0], three[1])
    make_chat(group, 12)
    return group


def chats_of(*characters: Character) -> list[str]:
    return [str(pk) for one in characters for pk in one.chats.values_list("pk", flat=True)]


def run_all(alice: User, job: Job) -> Job:
    run_until_idle(alice)
    job.refresh_from_db()
    return job


def test_the_tree_says_what_waits_and_what_it_costs(alice: User, three: list[Character], table: Group) -> None:
    found = batch_tree.branches(alice)
    assert [(one.whose.name, one.messages, one.chats) for one in found] == [
        ("Mara", 42, 2),
        ("Odo", 42, 2),
        ("Quill", 42, 2),
        ("The wardens", 12, 1),
    ]
    page = batch_tree.page_of(alice, found, "1")
    odo, wardens = page.object_list[1], page.object_list[3]
    assert sorted(leaf.cost.calls for leaf in odo.leaves) == [2, 3] and odo.cost.calls == 5
    assert wardens.cost.calls == 4, "two calls for each of two members"
    both = total([odo.cost, wardens.cost])
    assert both.calls == 9 and both.price == odo.cost.price + wardens.cost.price  # type: ignore[operator]
    Connection.objects.for_user(alice).update(preset="custom", price_in=None, price_out=None)
    batch_tree.fill(alice, odo)
    assert total([odo.cost]).price is None
    assert [one.whose.name for one in batch_tree.named(batch_tree.branches(alice), "qui")] == ["Quill"]


def test_typed_and_listed_prices_change_the_estimate(alice: User, three: list[Character]) -> None:
    def price() -> Decimal | None:
        return cost_of_reading(alice, character=three[0]).price

    typed = price()
    connection = Connection.objects.for_user(alice).get()
    connection.price_in, connection.price_out = Decimal(2), Decimal(4)
    connection.save()
    assert typed is not None and price() == 2 * typed
    connection.price_in = connection.price_out = None
    connection.preset = "custom"
    connection.save()
    assert price() is None
    ModelListing.objects.create(connection=connection, models_json=[{"id": "fake-small", "in": "3", "out": "6"}])
    assert price() == 3 * typed


def test_the_page_of_a_group_prices_both_ways_of_asking(alice_client: Client, table: Group) -> None:
    shown = words(soup(alice_client.get(f"/groups/{table.pk}/")).select_one("[aria-labelledby=how-h]"))
    assert re.search(r"Each one by themselves .*4 calls, . 0\.\d ¢ for 12 messages", shown), shown
    assert re.search(r"All in one call .*2 calls, . 0\.\d ¢", shown), shown


def test_one_part_for_each_character_reads_what_was_chosen_and_nothing_else(
    alice: User, three: list[Character], table: Group, fake: FakeModel
) -> None:
    odo, mara, quill = three
    wish = batch_start.chosen(alice, [*chats_of(odo), str(table.chats.get().pk), *chats_of(quill)[:1]])
    job = batch_start.start_batch(alice, wish)
    labels = sorted(job.children.values_list("label", flat=True))
    assert labels == ["Mara, 1 chat", "Odo, 3 chats", "Quill, 1 chat"]
    assert job.label == "Extract 3 characters from 4 chats"
    assert run_all(alice, job).state == Job.State.DONE
    assert not unread_by_group(alice)
    left = unread_by_character(alice)
    assert {three[1].pk, quill.pk} == set(left) and left[mara.pk].chats == 2
    assert job.step == job.total


def test_everything_in_one_click(alice_client: Client, alice: User, three: list[Character], table: Group) -> None:
    answer = alice_client.post("/batch/start/", {"everything": "1"})
    job = Job.objects.for_user(alice).get(is_batch=True)
    assert answer["Location"] == f"/jobs/{job.pk}/"
    assert run_all(alice, job).state == Job.State.DONE
    assert not unread_by_character(alice) and not unread_by_group(alice)
    again = alice_client.post("/batch/start/", {"everything": "1"}, follow=True)
    assert "Nothing of what was chosen is unread; nothing was started." in words(soup(again))


def test_members_that_are_asked_together_are_one_part(alice: User, three: list[Character], table: Group) -> None:
    ExtractionOverride.objects.create(owner=alice, group=table, values={"group_calls": "together"})
    job = batch_start.start_batch(alice, batch_start.chosen(alice, [str(table.chats.get().pk)]))
    assert [one.kind for one in job.children.all()] == ["extract_together"]


def test_whoever_is_being_read_takes_the_chosen_chats_along(alice: User, three: list[Character]) -> None:
    odo, mara, _quill = three
    first, second = odo.chats.order_by("message_count")
    running = extraction.start_extraction(alice, character=odo, chat=first)
    job = batch_start.start_batch(alice, batch_start.chosen(alice, [str(second.pk), *chats_of(mara)]))
    assert [one.label for one in job.children.all()] == ["Mara, 2 chats"]
    run_all(alice, job)
    running.refresh_from_db()
    assert running.state == Job.State.DONE and odo.pk not in unread_by_character(alice)


def test_pause_stop_and_retry_keep_what_was_read(alice: User, three: list[Character], fake: FakeModel) -> None:
    job = batch_start.start_batch(alice, batch_start.everything(alice))
    run_next(alice)
    run_next(alice)
    holding.hold(job)
    assert not run_next(alice)
    holding.let_go(job)
    run_next(alice)
    request_cancel(job)
    assert job.state == Job.State.CANCELLED
    before = ExtractedChunk.objects.for_user(alice).count()
    assert before == 3 and len(fake.chats) == 3
    assert retry(job)
    assert run_all(alice, job).state == Job.State.DONE
    assert len(fake.chats) == ExtractedChunk.objects.for_user(alice).count() == 15, "nothing was paid for twice"


def test_one_that_fails_stops_nobody_and_is_tried_again_alone(
    alice: User, three: list[Character], fake: FakeModel
) -> None:
    fake.respond(404, {"error": {"message": "no such model"}})
    job = batch_start.start_batch(alice, batch_start.everything(alice))
    run_all(alice, job)
    assert sorted(job.children.values_list("state", flat=True)) == ["done", "done", "failed"]
    read = len(fake.chats)
    assert retry(job)
    assert run_all(alice, job).state == Job.State.DONE
    assert len(fake.chats) - read == 5, "only the failed one was read again"


def test_the_report_says_what_came_out_and_what_failed(
    alice_client: Client, alice: User, three: list[Character], fake: FakeModel
) -> None:
    fake.respond(404, {"error": {"message": "no such model"}})
    job = run_all(alice, batch_start.start_batch(alice, batch_start.everything(alice)))
    report = batch_report.report_of(alice, job)
    assert (report.chunks, report.memories, report.messages) == (10, 2, 84)
    assert report.repeated == 8, "each further chunk only repeats what the first one said"
    assert [count for _pk, _name, count in report.characters] == [1, 1]
    page = words(soup(alice_client.get(f"/jobs/{job.pk}/")).select_one("section[aria-labelledby=rr]"))
    assert "Repetitions refused 8" in page and "1 part failed" in page and "Retry" in page


def test_a_report_of_many_failures_counts_them_all(alice_client: Client, alice: User, three: list[Character]) -> None:
    batch = make_job(alice, kind="batch", is_batch=True, state=Job.State.FAILED)
    for number in range(27):
        make_job(alice, parent=batch, key=f"part {number}", state=Job.State.FAILED, error="The model is gone.")
    report = batch_report.report_of(alice, batch)
    assert (report.failed_count, len(report.failed)) == (27, batch_report.MOST_SHOWN)
    page = words(soup(alice_client.get(f"/jobs/{batch.pk}/")).select_one("section[aria-labelledby=rr]"))
    assert "27 parts failed" in page and "The first 20 are shown." in page


def test_doubtful_memories_are_counted_in_the_report(alice: User, three: list[Character], fake: FakeModel) -> None:
    fake.answer_with("<memory>\n- [Odo — a line]\n- Zebulon of Karthago heard line 1 of the story.\n</memory>")
    job = run_all(alice, batch_start.start_batch(alice, batch_start.chosen(alice, chats_of(three[0])[:1])))
    assert batch_report.report_of(alice, job).doubtful == 1


def test_the_page_without_javascript(alice_client: Client, three: list[Character]) -> None:
    odo = three[0]
    page = soup(alice_client.get("/batch/"))
    assert "126 messages wait in 6 chats." in words(page.select_one(".lede"))
    assert len(page.select("input[name=chat]")) == 6
    answer = alice_client.post("/batch/start/", {"price": "1", "chat": [*chats_of(odo), "nonsense"]})
    priced = soup(alice_client.get(answer["Location"].partition("#")[0]))
    assert "42 messages, 5 calls" in words(priced.select_one("#sum")) and "¢" in words(priced.select_one("#sum"))
    assert len(priced.select("input[name=chat][checked]")) == 2
    answer = alice_client.post("/batch/start/", {"price": "1", "whose": [str(odo.pk), "nonsense"]})
    whole = soup(alice_client.get(answer["Location"].partition("#")[0]))
    assert words(whole.select_one("#sum")) == words(priced.select_one("#sum")), "a tick at the name means all its chats"


def test_a_stranger_starts_nothing(alice: User, three: list[Character], charlie: User) -> None:
    stranger = Client()
    stranger.force_login(charlie)
    make_connection(charlie)
    stranger.post("/batch/start/", {"chat": chats_of(three[0]), "whose": str(three[0].pk)})
    assert not Job.objects.for_user(charlie).exists() and not Job.objects.for_user(alice).exists()
    assert "Odo" not in words(soup(stranger.get("/batch/")))


def test_chats_of_nobody_are_left_out(alice: User, three: list[Character]) -> None:
    Character.objects.for_user(alice).filter(pk=three[0].pk).update(gone_at="2026-01-01T00:00Z")
    wish = batch_start.chosen(alice, chats_of(*three))
    assert set(wish.own) == set(three[1:])
    assert wish.chats == 4
