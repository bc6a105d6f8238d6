"""Counting what waits: exact where the watermark knows, counted once where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from memories import unread
from memories.models import Watermark
from memories.templatetags.memories import chat_title
from sync.models import Chat, Message
from tests.support.builders import make_character, make_chat, make_group, make_tavern


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    unread._remembered.clear()
    unread._lengths.clear()


def test_only_what_the_model_would_be_shown_counts(alice: User) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    chat = make_chat(seraphine, 6)
    Message.objects.for_user(alice).filter(chat=chat, index=2).update(role="unreadable")
    Message.objects.for_user(alice).filter(chat=chat, index=3).update(role="system", name="")
    make_chat(make_group(seraphine.tavern, seraphine), 9)
    assert {pk: part.messages for pk, part in unread.unread_by_chat(alice).items()} == {chat.pk: 4}


def test_the_watermarks_own_count_wins_while_the_chat_stays_as_it_was(alice: User) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    chat = make_chat(seraphine, 6)
    Watermark.objects.create(chat=chat, character=seraphine, index=1, waiting=1, counted_version=chat.version)
    assert unread.unread_by_chat(alice)[chat.pk].messages == 1
    Chat.objects.for_user(alice).filter(pk=chat.pk).update(version=chat.version + 1)
    assert unread.unread_by_chat(alice)[chat.pk].messages == 4


def test_an_unchanged_chat_is_counted_once(alice: User, django_assert_num_queries: Any) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    make_chat(seraphine, 6)
    with django_assert_num_queries(4):
        unread.unread_by_chat(alice)
    with django_assert_num_queries(2):
        assert unread.unread_by_character(alice)[seraphine.pk].messages == 6


def test_nothing_of_somebody_else_counts(alice: User, bob: User) -> None:
    make_chat(make_character(make_tavern(alice), "Seraphine"), 6)
    assert unread.unread_by_chat(bob) == {}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Flux - 2025-12-18@17h03m44s219ms", "18 Dec 2025, 17:03"),
        ("Flux - 2025-12-18@17h03m44s219ms - Branch #1", "18 Dec 2025, 17:03 - Branch #1"),
        ("2023-11-9 @09h 05m 12s 345ms", "9 Nov 2023, 09:05"),
        ("Third descent", "Third descent"),
        ("2025-99-99@17h03m44s219ms", "2025-99-99@17h03m44s219ms"),
    ],
)
def test_sillytaverns_own_chat_names_read_as_dates(name: str, shown: str) -> None:
    assert chat_title(name) == shown


def test_what_a_branch_shares_with_its_parent_is_counted_once(alice: User) -> None:
    mira = make_character(make_tavern(alice), name="Mira")
    parent = make_chat(mira, 6, name="Story")
    branch = make_chat(mira, 8, name="Story - Branch #1", parent=parent, fork_index=3)
    assert unread.unread_by_character(alice)[mira.pk].messages == 6 + 4
    assert unread.unread_by_chat(alice, mira)[branch.pk].messages == 4
    Chat.objects.for_user(alice).filter(pk=parent.pk).update(gone_at=timezone.now())
    assert unread.unread_by_chat(alice, mira)[branch.pk].messages == 8
