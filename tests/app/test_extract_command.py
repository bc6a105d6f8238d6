"""`manage.py extract` and `manage.py status`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from accounts.commands import CommandFailed
from accounts.models import User
from jobs.models import Job
from sync.models import Character
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.story import make_character, make_chat


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    flux = make_character(alice)
    make_chat(flux, "first night", ["The harbour was quiet tonight.", "Alex brought a lantern along."])
    return flux


def command(*args: str) -> Any:
    out = StringIO()
    call_command(*args, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_extract_and_wait_without_a_worker(flux: Character) -> None:
    found = command("extract", "--user", "alice", "--character", "Flux", "--wait")
    job = found["jobs"][0]
    assert (job["state"], job["messages"], job["chunks"]) == ("done", 2, 1)
    assert job["memories"] > 0
    status = command("status", "--user", "alice")
    assert status["characters"] == [
        {
            "name": "Flux",
            "avatar": "Flux.png",
            "memories": job["memories"],
            "unread": 0,
            "file": "Flux-memories.md",
            "file_written": False,
        }
    ]
    assert status["jobs"]["done"] == 1


def test_extract_only_queues_without_wait(flux: Character, fake: FakeModel) -> None:
    found = command("extract", "--user", "alice", "--all")
    assert found["jobs"][0]["state"] == "queued"
    assert fake.chats == []
    assert command("status", "--user", "alice")["characters"][0]["unread"] == 2


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--character", "Nobody"], "There is no character named “Nobody”."),
        (["--avatar", "Nobody.png"], "No character has the card “Nobody.png”."),
        (["--avatar", "Flux.png", "--chat", "none.jsonl"], "Flux has no chat named “none.jsonl”."),
        (["--all", "--chat", "x"], "--chat needs --character or --avatar, not --all."),
    ],
)
def test_one_sentence_says_what_is_wrong(flux: Character, args: list[str], sentence: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        command("extract", "--user", "alice", *args)
    assert str(caught.value) == sentence


def test_a_name_that_occurs_twice_is_chosen_by_its_card(flux: Character, alice: User) -> None:
    twin = make_character(alice, "Flux", tavern=flux.tavern, avatar="Flux1.png")
    with pytest.raises(CommandFailed, match=r"choose one by --avatar \(Flux.png, Flux1.png\)"):
        command("extract", "--user", "alice", "--character", "Flux")
    found = command("extract", "--user", "alice", "--avatar", "Flux1.png")
    assert Job.objects.for_user(alice).get(pk=found["jobs"][0]["id"]).subject == f"character:{twin.pk}"


def test_a_failed_extraction_fails_the_command(flux: Character, fake: FakeModel) -> None:
    fake.answer_with("I'm sorry, I can't help with that.")
    with pytest.raises(
        CommandFailed, match=r"^Flux: The model declined to read these messages\. Everything read before"
    ):
        command("extract", "--user", "alice", "--avatar", "Flux.png", "--wait")


def test_bobs_command_does_not_see_alices_characters(flux: Character, bob: User) -> None:
    make_connection(bob)
    with pytest.raises(CommandFailed, match="There is no character named “Flux”"):
        command("extract", "--user", "bob", "--character", "Flux")
    assert command("status", "--user", "bob")["characters"] == []
