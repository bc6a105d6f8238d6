"""How much is unread is asked every few seconds: an unchanged chat is counted once, however many members it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from memories import automatic_facts, watermark
from memories.automatic_facts import counts_of
from tests.support import story
from tests.support.group_story import make_chat, make_group, members, put

NAMES = ("Orla", "Pim", "Sefa", "Tamsin", "Ulf", "Vesna", "Wido", "Xenia", "Yorick", "Zelda")
TALK = [f"{name}: {name} waits." for name in NAMES] + ["Ren: Who is there?"]
ALL_OF_IT = (10, 11)


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    automatic_facts._remembered.clear()
    yield
    automatic_facts._remembered.clear()


def looks(work: Callable[[], object]) -> int:
    """How often `work` looks at messages."""
    with CaptureQueriesContext(connection) as caught:
        work()
    return sum('FROM "sync_message"' in one["sql"] for one in caught.captured_queries)


def test_a_chat_that_nobody_was_asked_about_is_counted_once_for_all_ten_members(alice: User) -> None:
    group = make_group(alice, *NAMES)
    chat, everybody = make_chat(group, TALK), members(group)
    assert looks(lambda: [counts_of(alice, chat, one) for one in everybody]) == 1
    assert looks(lambda: [counts_of(alice, chat, one) for one in everybody]) == 0
    assert {counts_of(alice, chat, one) for one in everybody} == {ALL_OF_IT}
    put(chat, [*TALK, "Orla: Orla is."])
    assert looks(lambda: [counts_of(alice, chat, one) for one in everybody]) == 1
    assert {counts_of(alice, chat, one) for one in everybody} == {(11, 12)}


def test_who_was_asked_is_counted_apart_and_again_after_a_reset(alice: User) -> None:
    group = make_group(alice, *NAMES)
    chat, (orla, pim, *_others) = make_chat(group, TALK), members(group)
    assert counts_of(alice, chat, orla) == ALL_OF_IT
    watermark.mark_read(alice, chat, orla, 3)
    assert counts_of(alice, chat, orla) == (6, 7) and counts_of(alice, chat, pim) == ALL_OF_IT
    watermark.read_again(alice, chat, orla)
    assert counts_of(alice, chat, orla) == ALL_OF_IT


def test_a_branch_without_a_point_of_its_own_follows_what_its_parent_was_read(alice: User) -> None:
    flux = story.make_character(alice)
    lines = [f"night {number}" for number in range(6)]
    parent = story.make_chat(flux, lines=lines)
    branch = story.make_chat(flux, "branch", [*lines[:4], "another way"], parent=parent, fork_index=3)
    assert counts_of(alice, branch, flux) == (3, 5)
    watermark.mark_read(alice, parent, flux, 2)
    assert counts_of(alice, branch, flux) == (1, 2)
    assert looks(lambda: counts_of(alice, branch, flux)) == 0
