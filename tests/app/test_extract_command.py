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
from tests.support import group_story
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
            "automatic": {
                "is_on": True,
                "kind": "below",
                "words": "0 of 20 messages",
                "count": 0,
                "threshold": 20,
                "until": None,
            },
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
        (["--all", "--chat", "x"], "--chat needs --character, --avatar or --group, not --all."),
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


def test_a_part_of_a_chat_and_the_rest_later(flux: Character) -> None:
    make_chat(flux, "long night", [f"Word{n} happened in Harrow." for n in range(8)])
    only = ("extract", "--user", "alice", "--character", "Flux", "--chat", "long night", "--wait")
    assert command(*only, "--from", "2", "--to", "4")["jobs"][0]["messages"] == 3
    assert command(*only, "--to", "5")["jobs"][0]["messages"] == 3
    assert command(*only)["jobs"][0]["messages"] == 2
    with pytest.raises(CommandFailed, match="--from and --to are message numbers of one chat"):
        command("extract", "--user", "alice", "--character", "Flux", "--to", "4")


def test_reading_again_says_what_it_costs_and_asks(flux: Character, fake: FakeModel) -> None:
    again = ("extract", "--user", "alice", "--character", "Flux", "--again", "--wait")
    assert command(*again)["again"] == 0  # nothing was read before, so nothing is paid for twice
    asked = len(fake.chats)
    with pytest.raises(CommandFailed, match=r"Flux: reading again means 2 messages in about 1 call for free"):
        command(*again)
    assert len(fake.chats) == asked
    found = command(*again, "--yes")
    assert (found["again"], found["jobs"][0]["messages"]) == (2, 2)
    assert len(fake.chats) == asked + 1


def test_a_group_and_everybody(alice: User, flux: Character, fake: FakeModel) -> None:
    fake.answer_with("NO_NEW_MEMORIES")
    group = group_story.make_group(alice, "Orla", "Pim")
    group_story.make_chat(group, ["Orla: Who has the lamp?", "Pim: Orla has it."], "evening")
    part = command("extract", "--user", "alice", "--group", "The wardens", "--chat", "evening", "--to", "0", "--wait")
    assert (part["jobs"][0]["group"], part["jobs"][0]["state"], part["jobs"][0]["messages"]) == (
        "The wardens",
        "done",
        1,
    )
    found = command("extract", "--user", "alice", "--all", "--wait")
    jobs = {one.get("group") or one["character"]: one for one in found["jobs"]}
    assert set(jobs) == {"Flux", "Orla", "Pim", "The wardens"}
    assert [one["label"] for one in jobs["The wardens"]["members"]] == ["Orla (1 of 2)", "Pim (2 of 2)"]
    assert jobs["The wardens"]["messages"] == 2  # Pim took no part in the first one
    with pytest.raises(CommandFailed, match="There is no group named “Nobody”"):
        command("extract", "--user", "alice", "--group", "Nobody")


def test_a_group_without_a_member_says_so(alice: User, flux: Character) -> None:
    group = group_story.make_group(alice, "Orla")
    group_story.members(group)[0].delete()
    with pytest.raises(CommandFailed, match="Nobody in The wardens has a card any more"):
        command("extract", "--user", "alice", "--group", "The wardens")


def test_an_estimate_starts_nothing(alice: User, flux: Character, fake: FakeModel) -> None:
    group = group_story.make_group(alice, "Orla", "Pim")
    group_story.make_chat(group, ["Orla: The lamp is out.", "Pim: So it is, Orla."])
    found = command("extract", "--user", "alice", "--all", "--estimate")["estimates"]
    by_name = {one.get("group") or one["character"]: one for one in found}
    assert (by_name["Flux"]["messages"], by_name["Flux"]["calls"]) == (2, 1)
    assert (by_name["The wardens"]["calls"], by_name["The wardens"]["is_most"]) == (2, True)
    assert fake.chats == [] and not Job.objects.for_user(alice).exists()


def test_status_says_what_groups_wait_for(alice: User, flux: Character) -> None:
    group = group_story.make_group(alice, "Orla", "Pim")
    group_story.make_chat(group, ["Orla: The lamp is out.", "Pim: So it is, Orla."])
    (told,) = command("status", "--user", "alice")["groups"]
    assert (told["members"], told["unread"]) == (["Orla", "Pim"], 2)
    assert told["automatic"]["words"] == "2 of 20 messages"
    out = StringIO()
    call_command("status", "--user", "alice", stdout=out)
    assert "The wardens: members 2, unread 2, by itself: 2 of 20 messages" in out.getvalue()
    assert "Flux: memories 0, unread 2, by itself: 1 of 20 messages" in out.getvalue()
