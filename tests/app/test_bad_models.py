"""Everything that can be wrong with a model: one clear sentence each, on the page and in the command, nothing lost."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.commands import CommandFailed
from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import retry
from jobs.models import Job
from memories import extraction
from memories.memory_file import file_for, memories_of
from memories.models import ExtractedChunk, ExtractionSettings, MemoryFile, Watermark
from providers import adapters
from sync.models import Character
from tests.support.fake_model import FakeModel
from tests.support.pages import words
from tests.support.story import make_character, make_chat
from tests.support.wire import connect, no_pauses

KEPT = "Everything read before is kept, and these messages stay unread."
AGAIN = "CharMem asked several times. Press Retry in a while."
HTML = "<!doctype html><title>502 Bad Gateway</title><body>nginx</body>"
KEY = {"error": {"message": "Incorrect API key provided: sk-proj-abcdefghijklmno"}}
TOO_LONG = {
    "error": {"message": "This model's maximum context length is 512 tokens", "code": "context_length_exceeded"}
}
FIRST = "<memory>\n- Flux met Alex in Harrow.\n</memory>"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    """A chat of three chunks, of which the first will be read."""
    connect(alice, fake, is_default=True)
    ExtractionSettings.objects.create(user=alice, messages_per_call=2)
    flux = make_character(alice)
    make_chat(flux, "first night", [f"Word{number} of Alex and Flux in Harrow." for number in range(6)])
    fake.answers(FIRST)
    return flux


def extract(flux: Character) -> Job:
    job = extraction.start_extraction(flux.tavern.owner, character=flux)
    run_until_idle(flux.tavern.owner)
    job.refresh_from_db()
    return job


def told() -> str:
    """What the command says that waits."""
    with pytest.raises(CommandFailed) as caught:
        call_command("extract", user="alice", character="Flux", wait=True, stdout=io.StringIO())
    return str(caught.value)


def page(client: Client, address: str) -> str:
    return words(BeautifulSoup(client.get(address).content, "html.parser"))


def only_the_first_chunk_was_read(flux: Character) -> None:
    user = flux.tavern.owner
    assert [one.text for one in memories_of(file_for(flux))] == ["Flux met Alex in Harrow."]
    assert list(ExtractedChunk.objects.for_user(user).values_list("first_index", "last_index")) == [(0, 1)]
    assert Watermark.objects.for_user(user).get().index == 1
    assert [one.messages for one in extraction.waiting(flux)] == [4]
    assert MemoryFile.objects.for_user(user).get().version == 1


@pytest.mark.parametrize(
    ("status", "body", "sentence", "hint"),
    [
        (
            401,
            KEY,
            "Kitchen box does not accept the key. It said: Incorrect API key provided: ….",
            "Enter the key again: Settings, Models.",
        ),
        (
            500,
            {"error": {"message": "CUDA error"}},
            "Kitchen box has trouble of its own (500). It said: CUDA error.",
            AGAIN,
        ),
        (502, HTML, "Kitchen box has trouble of its own (502).", AGAIN),
        (
            200,
            HTML,
            "Kitchen box sent a web page instead of an answer.",
            "Check the address: it usually ends in /v1.",
        ),
        (200, {"error": {"message": "Upstream died"}}, "Kitchen box answered with an error: Upstream died.", ""),
        (200, "", "Kitchen box sent an empty answer.", "It may be overloaded; try again."),
        (200, {"choices": []}, "Kitchen box sent an empty answer.", "It may be overloaded; try again."),
    ],
)
def test_a_failure_is_one_sentence_on_the_page_and_in_the_command(
    flux: Character, fake: FakeModel, alice_client: Client, status: int, body: Any, sentence: str, hint: str
) -> None:
    fake.respond(status, body, times=20)
    job = extract(flux)
    assert (job.state, job.error, job.hint) == (Job.State.FAILED, f"{sentence} {KEPT}", hint)
    for address in (f"/jobs/{job.pk}/", f"/characters/{flux.pk}/"):
        shown = page(alice_client, address)
        assert f"{sentence} {KEPT}" in shown
        assert hint in shown
    assert told() == f"Flux: {sentence} {KEPT} {hint}".strip()
    only_the_first_chunk_was_read(flux)
    fake._queue.clear()
    assert retry(job)
    run_until_idle(job.owner)
    assert extraction.waiting(flux) == []


@pytest.mark.parametrize("as_date", [False, True])
def test_a_rate_limit_pauses_and_says_until_when(
    flux: Character, fake: FakeModel, alice_client: Client, as_date: bool
) -> None:
    later = timezone.now() + timedelta(seconds=600)
    after = format_datetime(later) if as_date else "600"
    fake.respond(429, {"error": {"message": "slow down"}}, headers={"Retry-After": after})
    job = extract(flux)
    assert (job.state, job.error) == (Job.State.PAUSED, "")
    assert job.not_before is not None
    assert timedelta(seconds=590) < job.not_before - timezone.now() <= timedelta(seconds=601)
    sentence = "Kitchen box is asked too often. It said: slow down."
    assert sentence in page(alice_client, f"/jobs/{job.pk}/")
    clock = timezone.localtime(job.not_before).strftime("%H:%M:%S")
    assert f"{sentence} Goes on by itself at {clock}." in page(alice_client, "/jobs/")
    only_the_first_chunk_was_read(flux)
    assert len(fake.chats) == 2


def test_a_rate_limit_without_a_time_pauses_too(flux: Character, fake: FakeModel) -> None:
    fake.respond(429, {"error": {"message": "slow down"}}, times=20)
    job = extract(flux)
    assert (job.state, job.error) == (Job.State.PAUSED, "")
    assert job.not_before is not None and job.not_before - timezone.now() > timedelta(seconds=30)
    only_the_first_chunk_was_read(flux)


def test_the_command_says_why_it_waits(flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.retry.PATIENCE", 0.5)
    fake.respond(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "1"})
    said = io.StringIO()
    call_command("extract", user="alice", character="Flux", wait=True, stdout=io.StringIO(), stderr=said)
    assert said.getvalue().startswith("Kitchen box is asked too often. It said: slow down. Goes on by itself at ")
    assert said.getvalue().count("\n") == 1
    assert extraction.waiting(flux) == []


def test_a_connection_that_hangs_is_hung_up_on(
    flux: Character, fake: FakeModel, alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters.Line, "idle", 0.2)
    events = [fake.hang() for _attempt in range(8)]
    job = extract(flux)
    sentence = f"127.0.0.1:{fake.port} was silent for 0 seconds and was hung up on. {KEPT}"
    assert (job.state, job.error) == (Job.State.FAILED, sentence)
    assert sentence in page(alice_client, f"/jobs/{job.pk}/")
    assert told().startswith(f"Flux: {sentence}")
    for event in events:
        event.set()
    only_the_first_chunk_was_read(flux)


def test_an_event_stream_nobody_asked_for_is_read(flux: Character, fake: FakeModel) -> None:
    fake.stream_always = True
    assert extract(flux).state == Job.State.DONE
    assert [one.text for one in memories_of(file_for(flux)) if "Word5" in one.text] == [
        "Alex said that Word5 of Alex and Flux in Harrow."
    ]
    assert extraction.waiting(flux) == []


def test_a_window_too_small_for_anything_says_so(flux: Character, fake: FakeModel, alice_client: Client) -> None:
    fake.respond(400, TOO_LONG, times=40)
    job = extract(flux)
    sentence = (
        "Not even a part of one message fits into the model’s context window. "
        "Everything read before is kept, and these messages stay unread."
    )
    assert (job.state, job.error) == (Job.State.FAILED, sentence)
    assert sentence in page(alice_client, f"/jobs/{job.pk}/")
    assert told() == f"Flux: {sentence} {job.hint}"
    only_the_first_chunk_was_read(flux)
