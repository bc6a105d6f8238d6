"""Branches read by a model: what lines share is paid for once and known in all of them, the rest stays in its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import extraction, scope_change, sharing
from memories.memory_file import file_for
from memories.models import ExtractionSettings
from memories.scopes import file_of_reading
from sync.models import Character, Chat
from tests.support.branching import texts_in
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.story import make_character, make_chat, put_messages


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=10)
    return make_character(alice)


def lines(*names: str) -> list[dict[str, Any]]:
    """Messages that name one thing each; equal names are equal messages in every chat."""
    return [{"text": f"Alex gave Flux the {name} in Harrow.", "raw_date": f"d-{name}"} for name in names]


def fact(name: str) -> str:
    return f"<memory>\n- Alex gave Flux the {name} in Harrow.\n</memory>"


def told(name: str) -> str:
    return f"Alex gave Flux the {name} in Harrow."


SHARED = ("lantern", "ribbon", "kettle", "compass")


@pytest.fixture
def main(flux: Character) -> Chat:
    return make_chat(flux, "main", lines(*SHARED, "anchor", "bugle"))


@pytest.fixture
def branch(flux: Character, main: Chat) -> Chat:
    own = lines(*SHARED, "candle", "drum")
    return make_chat(flux, "branch", own, parent=main, parent_name="main", fork_index=3)


def extract(character: Character, chat: Chat | None = None) -> Job:
    job = extraction.start_extraction(character.tavern.owner, character=character, chat=chat)
    run_until_idle(character.tavern.owner)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    return job


def material(prompt: str) -> str:
    return prompt.partition("NEW MESSAGES")[2]


def test_what_comes_later_in_one_line_is_in_no_prompt_of_the_other(
    alice: User, fake: FakeModel, flux: Character, main: Chat, branch: Chat
) -> None:
    scope_change.choose(alice, flux, "all", "branches")
    fake.answers(fact("anchor"), fact("candle"))
    extract(flux)
    first, second = fake.prompts()
    assert [name in material(first) for name in ("lantern", "anchor", "candle")] == [True, True, False]
    assert [name in material(second) for name in ("lantern", "candle", "drum")] == [False, True, True]
    assert "anchor" not in second
    assert texts_in(file_for(flux)) == [told("anchor")]
    assert texts_in(file_of_reading(flux, branch)) == [told("candle")]


def test_the_branch_knows_what_was_found_before_the_fork_and_is_not_told_twice(
    alice: User, fake: FakeModel, flux: Character, main: Chat, branch: Chat
) -> None:
    scope_change.choose(alice, flux, "all", "branches")
    fake.answers(fact("lantern"), fact("candle"))
    extract(flux)
    assert told("lantern") in fake.prompts()[1].partition("NEW MESSAGES")[0]
    assert texts_in(file_of_reading(flux, branch)) == [told("lantern"), told("candle")]
    assert texts_in(file_for(flux)) == [told("lantern")]


def test_only_the_branch_is_asked_for_and_the_line_it_left_learns_what_both_share(
    alice: User, fake: FakeModel, flux: Character, main: Chat, branch: Chat
) -> None:
    scope_change.choose(alice, flux, "all", "branches")
    fake.answers(fact("lantern"), fact("candle"), fact("anchor"))
    extract(flux, branch)
    assert texts_in(file_for(flux)) == [told("lantern")]
    assert texts_in(file_of_reading(flux, branch)) == [told("lantern"), told("candle")]
    assert len(fake.prompts()) == 2
    extract(flux, main)
    assert texts_in(file_for(flux)) == [told("lantern"), told("anchor")]
    assert [name in material(fake.prompts()[2]) for name in ("lantern", "anchor")] == [False, True]


def test_a_branch_made_after_the_reading_pays_for_its_own_messages_only(
    alice: User, fake: FakeModel, flux: Character, main: Chat
) -> None:
    scope_change.choose(alice, flux, "chat", "shared")
    fake.answers(fact("lantern"), fact("candle"))
    extract(flux)
    late = make_chat(flux, "late", lines(*SHARED, "candle"), parent=main, parent_name="main", fork_index=3)
    Chat.objects.for_user(alice).filter(pk=late.pk).update(name="renamed", path="chats/Flux/renamed.jsonl")
    extract(flux)
    assert [name in material(fake.prompts()[1]) for name in (*SHARED, "candle")] == [False] * 4 + [True]
    late.refresh_from_db()
    assert texts_in(file_of_reading(flux, late)) == [told("lantern"), told("candle")]
    assert texts_in(file_of_reading(flux, main)) == [told("lantern")]
    assert texts_in(file_for(flux)) == []


def test_chats_of_their_own_never_hear_of_each_other(alice: User, fake: FakeModel, flux: Character, main: Chat) -> None:
    other = make_chat(flux, "other", lines("canary", "thimble"))
    scope_change.choose(alice, flux, "chat", "shared")
    fake.answers(fact("lantern"), fact("canary"))
    extract(flux, main)
    extract(flux, other)
    put_messages(main, lines(*SHARED, "anchor", "bugle", "whistle"))
    fake.answers(fact("whistle"))
    extract(flux, main)
    assert "canary" not in fake.prompts()[2]
    assert "lantern" not in fake.prompts()[1]
    assert texts_in(file_of_reading(flux, other)) == [told("canary")]


def test_two_who_share_know_what_either_was_told(alice: User, fake: FakeModel, flux: Character, main: Chat) -> None:
    mike = make_character(alice, "Mike", tavern=flux.tavern)
    make_chat(mike, "with Mike", lines("saddle"))
    sharing.share(alice, mike, flux, takes_along=False)
    fake.answers(fact("lantern"), fact("saddle"))
    extract(flux)
    extract(mike)
    assert told("lantern") in fake.prompts()[1].partition("NEW MESSAGES")[0]
    assert texts_in(file_for(flux)) == [told("lantern"), told("saddle")]
    assert texts_in(file_for(mike)) == []
