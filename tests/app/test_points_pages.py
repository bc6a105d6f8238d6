"""The line "extracted up to here" moved by hand, chats that are to be read again, and taking both back."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from jobs.models import Job
from memories import queries
from memories.models import Activity, Memory
from sync.models import Character, Chat
from tests.support.builders import (
    make_character,
    make_chat,
    make_connection,
    make_group,
    make_memory_file,
    make_tavern,
)
from tests.support.pages import soup, toast, words
from tests.support.reading import read


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


def unread(chat: Chat, character: Character) -> list[int]:
    reading = queries.reading_of(chat.tavern.owner, chat, character)
    return [reading.indices[one] for one in reading.fresh]


def undo(client: Client) -> None:
    """Press Undo on the toast of the last change."""
    client.post(toast(client).select_one("form")["action"])


def test_setting_the_point_says_its_effect_first(alice: User, alice_client: Client, seraphine: Character) -> None:
    make_connection(alice, price_in="1.0", price_out="2.0")
    chat = make_chat(seraphine, 10)
    read(chat, seraphine, 0, 3)
    read(chat, seraphine, 6, 7)
    page = soup(alice_client.get(f"/chats/{chat.pk}/messages/5/point/"))
    effect = [words(one) for one in page.select(".effect li")]
    assert effect == ["2 unread messages count as read without a model", "2 messages that were read are unread again"]
    assert "1 call, about" in words(page.select_one("main"))
    assert unread(chat, seraphine) == [4, 5, 8, 9], "looking changes nothing"


def test_the_point_moves_both_ways_and_back(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 10)
    read(chat, seraphine, 0, 7)
    url = f"/chats/{chat.pk}/messages/4/point/"
    assert alice_client.post(url)["Location"] == f"/chats/{chat.pk}/?at=4#m4"
    assert unread(chat, seraphine) == [5, 6, 7, 8, 9]
    assert Activity.objects.for_user(seraphine.tavern.owner).get().text == "The line was moved to #4 by hand."
    undo(alice_client)
    assert unread(chat, seraphine) == [8, 9]
    alice_client.post(f"/chats/{chat.pk}/messages/9/point/")
    assert unread(chat, seraphine) == []
    undo(alice_client)
    assert unread(chat, seraphine) == [8, 9]


def test_the_line_can_stand_in_front_of_everything(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 3)
    read(chat, seraphine, 0, 0)
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    up = page.select_one("#watermark button[aria-label='Move the line one message up']")
    alice_client.post(up["formaction"], {up["name"]: up["value"]})
    assert unread(chat, seraphine) == [0, 1, 2]


def test_an_undo_does_not_take_back_what_was_read_since(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 6)
    read(chat, seraphine, 0, 5)
    alice_client.post(f"/chats/{chat.pk}/messages/1/point/")
    action = toast(alice_client).select_one("form")["action"]
    read(chat, seraphine, 2, 3)
    alice_client.post(action)
    assert "Something was read since" in words(toast(alice_client))
    assert unread(chat, seraphine) == [4, 5]
    alice_client.post(f"/chats/{chat.pk}/point/undo/?after=0&to=99999")
    assert unread(chat, seraphine) == [4, 5], "an address made up by hand takes no reading away"


def test_a_reset_says_its_numbers_keeps_memories_and_is_undone(
    alice: User, alice_client: Client, seraphine: Character
) -> None:
    make_connection(alice, price_in="1.0", price_out="2.0")
    chat = make_chat(seraphine, 6)
    read(chat, seraphine, 0, 3)
    make_memory_file(seraphine, chat=None)
    page = soup(alice_client.get(f"/chats/{chat.pk}/reset/"))
    said = words(page.select_one("main"))
    assert "4 messages are read and 2 are not." in said
    assert "4 messages that were read are unread again." in said
    assert "1 call, about" in said
    alice_client.post(f"/chats/{chat.pk}/reset/", {"do": "again"})
    assert unread(chat, seraphine) == [0, 1, 2, 3, 4, 5]
    assert Memory.objects.for_user(alice).count() == 2
    assert not Job.objects.for_user(alice).exists(), "a reset reads nothing by itself"
    undo(alice_client)
    assert unread(chat, seraphine) == [4, 5]


def test_marking_as_fully_extracted_can_be_undone(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 6)
    alice_client.post(f"/chats/{chat.pk}/reset/", {"do": "read"})
    assert unread(chat, seraphine) == []
    undo(alice_client)
    assert unread(chat, seraphine) == [0, 1, 2, 3, 4, 5]


def test_a_whole_character_is_reset_with_its_groups_and_undone(
    alice: User, alice_client: Client, seraphine: Character
) -> None:
    chat = make_chat(seraphine, 4, name="Tea")
    fire = make_chat(make_group(seraphine.tavern, seraphine), 3, name="By the fire")
    untouched = make_chat(seraphine, 2, name="Never read")
    read(chat, seraphine, 0, 3)
    read(fire, seraphine, 0, 1)
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/reset/"))
    assert "In 2 chats of which something was read, 6 messages are read and 1 are not." in words(
        page.select_one("main")
    )
    assert [words(one) for one in page.select(".reset-list li")] == [
        "Tea 4 read, 0 unread",
        "The wardens: By the fire 2 read, 1 unread",
    ]
    alice_client.post(f"/characters/{seraphine.pk}/reset/", {"do": "again"})
    assert unread(chat, seraphine) == [0, 1, 2, 3]
    assert unread(fire, seraphine) == [0, 1, 2]
    undo(alice_client)
    assert unread(chat, seraphine) == []
    assert unread(fire, seraphine) == [2]
    assert unread(untouched, seraphine) == [0, 1]


def test_points_of_one_member_leave_the_others_alone(alice: User, alice_client: Client, seraphine: Character) -> None:
    maren = make_character(seraphine.tavern, "Maren")
    chat = make_chat(make_group(seraphine.tavern, seraphine, maren), 5, name="By the fire")
    read(chat, seraphine, 0, 4)
    alice_client.post(f"/chats/{chat.pk}/messages/2/point/", {"whose": str(maren.pk)})
    assert unread(chat, maren) == [3, 4]
    assert unread(chat, seraphine) == []


def test_extracting_up_to_a_message_asks_for_that_stretch(
    alice: User, alice_client: Client, seraphine: Character
) -> None:
    make_connection(alice)
    chat = make_chat(seraphine, 8)
    alice_client.post(f"/chats/{chat.pk}/messages/4/extract/")
    job = Job.objects.for_user(alice).get()
    assert job.total == 5
    assert "Reading up to #4" in words(toast(alice_client))


def test_without_a_model_extracting_says_so(alice: User, alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 8)
    alice_client.post(f"/chats/{chat.pk}/messages/4/extract/")
    assert "No model is connected yet" in words(toast(alice_client))


def test_a_group_chat_is_read_for_all_or_for_one(alice: User, alice_client: Client, seraphine: Character) -> None:
    make_connection(alice)
    maren = make_character(seraphine.tavern, "Maren")
    chat = make_chat(make_group(seraphine.tavern, seraphine, maren), 5, name="By the fire")
    alice_client.post(f"/chats/{chat.pk}/extract/", {"whose": str(maren.pk)})
    assert {one.subject for one in Job.objects.for_user(alice).filter(is_batch=False)} == {f"character:{maren.pk}"}
    Job.objects.for_user(alice).delete()
    alice_client.post(f"/chats/{chat.pk}/extract/")
    found = {one.subject for one in Job.objects.for_user(alice).filter(is_batch=False)}
    assert found == {f"character:{seraphine.pk}", f"character:{maren.pk}"}
