"""A branch is read in any way: what it shares goes into the line it lies in, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import batch_start, queries
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionSettings, MemoryFile
from sync.models import Character, Chat
from tests.support.branching import make_branch, make_reader, texts_in
from tests.support.builders import make_character, make_chat, make_group
from tests.support.fake_model import FakeModel

SHARED, LATER = "Odo heard line 2 of the story.", "Odo heard what the branch says."


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def odo(alice: User, fake: FakeModel) -> Character:
    return make_reader(alice, fake.base_url)


def _alone(user: User, odo: Character, chat: Chat) -> Job:
    return start_extraction(user, character=odo, chat=chat)


def _batch(user: User, odo: Character, chat: Chat) -> Job:
    return batch_start.start_batch(user, batch_start.chosen(user, [str(chat.pk)]))


def _answers(fake: FakeModel, tag: str = "memory") -> None:
    fake.answers(*(f"<{tag}>\n- [Odo — a line]\n- {text}\n</memory>" for text in (SHARED, LATER)))


def _check(user: User, odo: Character, main: Chat, branch: Chat) -> None:
    chunks = ExtractedChunk.objects.for_user(user).filter(character=odo).order_by("pk")
    spans = list(chunks.values_list("chat", "first_index", "last_index"))
    assert spans == [(branch.pk, 0, 5), (branch.pk, 6, 9)]
    own = MemoryFile.objects.for_user(user).get(character=odo, chat=branch)
    assert (texts_in(file_for(odo)), texts_in(own)) == ([SHARED], [SHARED, LATER])
    assert queries.reading_of(user, main, odo).fresh == list(range(6, 12))
    assert queries.reading_of(user, branch, odo).fresh == []


@pytest.mark.parametrize("start", [_alone, _batch])
def test_a_branch_of_one(
    alice: User, odo: Character, fake: FakeModel, start: Callable[[User, Character, Chat], Job]
) -> None:
    main = make_chat(odo, 12, name="The long night")
    branch = make_branch(main, 5)
    _answers(fake)
    start(alice, odo, branch)
    run_until_idle(alice)
    assert len(fake.chats) == 2
    _check(alice, odo, main, branch)


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_branch_of_a_group_whose_members_are_asked_together(
    alice: User, odo: Character, fake: FakeModel, *, is_batch: bool
) -> None:
    ExtractionSettings.objects.filter(user=alice).update(group_calls="together")
    group = make_group(odo.tavern, odo, make_character(odo.tavern, "Mara"))
    _answers(fake, 'memory character="Odo"')
    main = make_chat(group, 12, name="By the fire")
    branch = make_branch(main, 5)
    if is_batch:
        _batch(alice, odo, branch)
    else:
        start_group(alice, group, chats=[branch])
    run_until_idle(alice)
    assert len(fake.chats) == 2, "both were asked about with one call each time"
    _check(alice, odo, main, branch)
