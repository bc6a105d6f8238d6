"""The timeline: days of the chat, silences, dates of the story, and nothing of others."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories.models import MemoryFile
from memories.timeline import ByChat, ByStory
from sync.models import Chat, Message
from tests.support.builders import make_block, make_character, make_chat, make_memory_file, make_tavern
from tests.support.pages import soup, words

pytestmark = pytest.mark.django_db
START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def play(file: MemoryFile, days: list[int], name: str = "The descent") -> Chat:
    """A chat with one message on each of these days after the first of March."""
    chat = make_chat(file.character, len(days), name=name)
    for index, day in enumerate(days):
        Message.objects.for_user(file.owner).filter(chat=chat, index=index).update(sent_at=START + timedelta(days=day))
    chat.first_at, chat.last_at = START + timedelta(days=min(days)), START + timedelta(days=max(days))
    chat.save()
    return chat


def remember(file: MemoryFile, chat: Chat, index: int, *texts: str) -> Any:
    return make_block(file, chat.name, list(texts), order=index, chat=chat, first_index=index, last_index=index)


@pytest.fixture
def file(alice: User) -> MemoryFile:
    return make_memory_file(make_character(make_tavern(alice), "Seraphine"), [])


def test_memories_stand_on_the_day_of_their_message(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = play(file, [0, 1, 40])
    remember(file, chat, 0, "Met at the well.")
    remember(file, chat, 2, "Swore an oath.", "Lit a lamp.")
    times = ByChat(alice, file.character)
    assert times.counts == {date(2026, 3, 2): 1, date(2026, 4, 11): 2}
    page = soup(alice_client.get(f"/characters/{file.character_id}/timeline/"))
    assert [words(day) for day in page.select(".day-when")] == ["Sat 11 2 memories", "Mon 2 1 memory"]
    assert page.select_one(".day .flags a")["href"] == f"/chats/{chat.pk}/?at=2#m2"
    assert len(page.select(".density a")) == 2


def test_a_silence_names_what_was_written_and_never_read(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = play(file, [0, 10, 11, 12, 40])
    remember(file, chat, 0, "Met at the well.")
    remember(file, chat, 4, "Swore an oath.")
    page = soup(alice_client.get(f"/characters/{file.character_id}/timeline/"))
    said = words(page.select_one(".gap"))
    assert "3 March to 10 April 2026: 6 weeks, nothing remembered" in said
    assert "3 messages were written then. 3 were never read." in said
    assert page.select_one(".gap a")["href"] == f"/chats/{chat.pk}/"


def test_a_stretch_without_chatting_is_no_silence(alice: User, file: MemoryFile) -> None:
    chat = play(file, [0, 40])
    remember(file, chat, 0, "Met at the well.")
    remember(file, chat, 1, "Swore an oath.")
    assert ByChat(alice, file.character).silences == []


def test_one_chat_alone_and_a_week_alone(alice_client: Client, file: MemoryFile) -> None:
    one, other = play(file, [0, 1], "One"), play(file, [20, 21], "Other")
    remember(file, one, 0, "Met at the well.")
    for n in range(130):
        remember(file, other, 1, f"Counted {n} steps.")
    page = soup(alice_client.get(f"/characters/{file.character_id}/timeline/?chat={one.pk}"))
    assert [words(text) for text in page.select(".bullet .text")] == ["Met at the well."]
    week = soup(alice_client.get(f"/characters/{file.character_id}/timeline/?at=2026-03-02"))
    assert "Met at the well." in words(week.select_one(".days"))
    assert alice_client.get(f"/characters/{file.character_id}/timeline/?at=nonsense&chat=x&page=x").status_code == 200


def test_dates_of_the_story_order_what_happened(alice: User, alice_client: Client, file: MemoryFile) -> None:
    make_block(file, "Later", ["On 3 May 1312 the harbour froze.", "Nobody says when."], order=1)
    topic = make_block(file, "Earlier", ["[Seraphine — 14 March 1312]", "Met at the well."], order=2)
    topic.memories.filter(text__startswith="[").update(is_topic=True)
    times = ByStory(alice, file.character)
    assert [str(when) for when, _n, _pk in times.dated] == ["14 March 1312", "3 May 1312"]
    page = soup(alice_client.get(f"/characters/{file.character_id}/timeline/?by=story"))
    assert [words(text) for text in page.select(".bullet .text")] == [
        "Met at the well.",
        "On 3 May 1312 the harbour froze.",
    ]
    assert "2 of 3 memories name a date" in words(page.select_one("h2"))


def test_ten_thousand_memories_are_a_page_of_120(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = play(file, list(range(300)))
    for index in range(300):
        remember(file, chat, index, *[f"Fact {index}.{n}" for n in range(33)])
    answer = alice_client.get(f"/characters/{file.character_id}/timeline/")
    page = soup(answer)
    assert len(page.select(".bullet")) <= 120
    assert "9,900 memories" in words(page.select_one("h2"))
    assert len(page.select(".density rect")) <= 110


def test_an_undated_block_comes_last(alice_client: Client, file: MemoryFile) -> None:
    make_block(file, "Old notes", ["Found in a drawer."], date="long ago")
    chat = play(file, [0])
    remember(file, chat, 0, "Met at the well.")
    page = soup(alice_client.get(f"/characters/{file.character_id}/timeline/"))
    assert words(page.select(".day-when")[-1]).startswith("No date")
    assert (
        alice_client.get(f"/characters/{make_character(file.character.tavern, 'Nobody').pk}/timeline/").status_code
        == 200
    )


def test_a_strangers_chat_narrows_nothing(alice: User, charlie: User, charlie_client: Client, file: MemoryFile) -> None:
    his = make_character(make_tavern(charlie), "Ilse")
    chat = play(file, [0])
    assert charlie_client.get(f"/characters/{his.pk}/timeline/?chat={chat.pk}").status_code == 404
