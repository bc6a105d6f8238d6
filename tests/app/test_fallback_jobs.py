"""Extraction while a connection is down: what the job says, what stands in the ledger, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import consolidation, extraction, extraction_chunk, memory_file, try_it
from memories.memory_file import file_for
from memories.models import Activity, ExtractedChunk, ExtractionSettings, MemoryBlock
from providers import assigning
from providers.models import Call, Connection
from sync.models import Character
from tests.support.consolidating import Merger
from tests.support.fake_model import FakeModel
from tests.support.story import make_character, make_chat
from tests.support.wire import connect, no_pauses

pytestmark = pytest.mark.django_db


@dataclass
class Story:
    """Alice's chat of eight messages in two chunks, and the two servers that may read it."""

    person: User
    flux: Character
    big: FakeModel
    small: FakeModel

    def connection(self, name: str) -> Connection:
        return Connection.objects.for_user(self.person).get(name=name)

    def extract(self) -> Job:
        job = extraction.start_extraction(self.person, character=self.flux)
        run_until_idle(self.person)
        job.refresh_from_db()
        return job

    @property
    def ledger(self) -> list[tuple[str, str]]:
        rows = Call.objects.for_user(self.person).order_by("started_at")
        return list(rows.values_list("connection_name", "error_type"))


@pytest.fixture
def story(alice: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    no_pauses(monkeypatch)
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    flux = make_character(alice)
    make_chat(flux, "first night", [f"Word{n} happened in Harrow to Alex and Flux." for n in range(8)])
    with FakeModel() as big, FakeModel() as small:
        connect(alice, big, name="Big", is_default=True)
        assigning.assign(alice, "extraction", None, [connect(alice, small, name="Small")])
        yield Story(alice, flux, big, small)


def log_of(job: Job) -> list[str]:
    return [text for text in job.events.order_by("pk").values_list("text", flat=True) if "steps in" in text]


def test_the_job_goes_on_with_another_one_and_says_so(story: Story) -> None:
    story.big.respond(500, "", times=4)
    job = story.extract()
    assert job.state == Job.State.DONE and job.step == 8
    assert log_of(job) == ["Small steps in for Big: Big has trouble of its own (500)."] * 2
    assert story.ledger == [("Big", "server"), ("Small", ""), ("Small", "")]
    assert len(story.big.chats) == 4  # the second chunk did not knock again
    calls = [block.call for block in MemoryBlock.objects.for_user(story.person).select_related("call")]
    assert {call.connection_name for call in calls if call} == {"Small"}
    told = list(Activity.objects.for_user(story.person).order_by("pk").values_list("step", "text"))
    sent = [text.partition(" at ")[2] for step, text in told if step == "sent"]
    assert sent == ["Big.", "Small.", "Small."]


def test_when_all_fail_the_job_says_what_the_first_one_said(story: Story) -> None:
    story.big.respond(402, "")
    story.small.respond(401, "")
    job = story.extract()
    assert job.state == Job.State.FAILED and job.error_type == "payment"
    assert job.error.startswith("Big wants to be paid first.")
    assert not ExtractedChunk.objects.for_user(story.person).exists()


def test_a_failure_after_the_answer_makes_no_second_call(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    write = extraction_chunk.write_share

    def failing(*args: Any, **fields: Any) -> None:
        write(*args, **fields)
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(extraction_chunk, "write_share", failing)
    job = story.extract()
    assert job.state == Job.State.FAILED
    assert (len(story.big.chats), len(story.small.chats)) == (1, 0)
    assert story.ledger == [("Big", "")]


def test_a_failure_after_the_commit_makes_no_second_call(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: Any) -> None:
        raise ConnectionError("nobody listens any more")

    monkeypatch.setattr(extraction_chunk, "tell", failing)
    job = story.extract()
    assert job.state == Job.State.FAILED
    assert ExtractedChunk.objects.for_user(story.person).count() == 1
    assert (len(story.big.chats), len(story.small.chats)) == (1, 0)


def test_the_day_s_budget_holds_for_the_one_that_steps_in(story: Story) -> None:
    rows = Connection.objects.for_user(story.person)
    rows.filter(name="Small").update(price_in=Decimal(1000), price_out=Decimal(1000))
    ExtractionSettings.objects.filter(user=story.person).update(daily_budget=Decimal("0.01"))
    story.big.respond(401, "")
    job = extraction.start_extraction(story.person, character=story.flux, is_automatic=True)
    run_until_idle(story.person)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and job.error_type == "key"
    assert len(story.small.chats) == 0


def test_who_was_chosen_reads_and_the_default_does_the_rest(story: Story) -> None:
    assigning.assign(story.person, "extraction", story.connection("Small"))
    story.extract()
    assert (len(story.big.chats), len(story.small.chats)) == (0, 2)
    story.connection("Small").delete()
    make_chat(story.flux, "second night", ["Flux likes rain in Harrow a lot."])
    story.extract()
    assert (len(story.big.chats), len(story.small.chats)) == (1, 2)


def test_consolidation_has_an_order_of_its_own(alice: User, story: Story) -> None:
    file = file_for(story.flux)
    with memory_file.change(file, reason="written", author=alice) as editor:
        for n in range(3):
            editor.add_block(f"Night {n}", [f"Lantern {n} burns in Harrow."], origin="written")
    with Merger() as merger:
        third = connect(alice, merger, name="Third")
        assigning.assign(alice, "consolidation", story.connection("Small"), [third])
        story.small.respond(404, "")
        ids = [block.pk for block in file.blocks.all()]
        proposal = consolidation.start_consolidation(alice, file, block_ids=ids)
        run_until_idle(alice)
        proposal.refresh_from_db()
    assert proposal.state == "ready" and proposal.connection == story.connection("Small")
    assert story.ledger == [("Small", "not_found"), ("Third", "")]


def test_what_is_tried_is_tried_with_the_named_one(alice: User, story: Story) -> None:
    chat = story.flux.chats.get()
    story.big.respond(401, "")
    trial = try_it.Trial("extraction", story.flux, chat, 0, 3, story.connection("Big"), "")
    job = try_it.start(alice, trial)
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and story.ledger == [("Big", "key")]


def test_choosing_costs_a_chunk_no_query(story: Story, alice: User) -> None:
    seen: list[int] = []
    for place in range(3):  # the first time more is made than later
        chat = make_chat(story.flux, f"night {place}", [f"Night{place} fell {n} times over Harrow." for n in range(8)])
        if place == 2:
            assigning.assign(alice, "extraction", story.connection("Big"), [story.connection("Small")])
        with CaptureQueriesContext(database) as queries:
            extraction.start_extraction(alice, character=story.flux, chat=chat)
            run_until_idle(alice)
        told = [one["sql"] for one in queries if one["sql"].startswith("SELECT") and "providers_" in one["sql"]]
        assert all('FROM "providers_connection"' in sql for sql in told if "providers_duty" in sql)
        seen.append(len(told))
    assert seen[1] == seen[2]
