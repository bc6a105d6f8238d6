"""The chat reader."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories.markup import chat_html
from sync.models import Character, Chat, Message
from tests.support.builders import make_block, make_character, make_chat, make_memory_file, make_tavern
from tests.support.pages import soup, words
from tests.support.reading import read


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


def read_up_to(chat: Chat, index: int) -> None:
    assert chat.character is not None
    read(chat, chat.character, 0, index)


def test_the_line_stands_after_the_last_message_that_was_read(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 8)
    read_up_to(chat, 4)
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    order = [item.get("id") for item in page.select("ol.reader > li")]
    assert order == ["m0", "m1", "m2", "m3", "m4", "watermark", "m5", "m6", "m7"]
    assert "Extracted up to here 3 messages since" in words(page.select_one("#watermark"))
    assert [item["id"] for item in page.select("li.is-fresh")] == ["m5", "m6", "m7"]


def test_a_chat_that_nobody_read_says_so_on_top(alice_client: Client, seraphine: Character) -> None:
    page = soup(alice_client.get(f"/chats/{make_chat(seraphine, 3).pk}/"))
    assert page.select_one("ol.reader > li")["id"] == "watermark"
    assert "Nothing was extracted yet" in words(page.select_one("#watermark"))


def test_five_thousand_messages_open_as_one_window(
    alice_client: Client, seraphine: Character, django_assert_max_num_queries: Any
) -> None:
    chat = make_chat(seraphine, 5000)
    with django_assert_max_num_queries(36):
        page = soup(alice_client.get(f"/chats/{chat.pk}/?at=2512"))
    numbers = [int(item["id"][1:]) for item in page.select("li.msg")]
    assert numbers == list(range(2500, 2600))
    assert page.select_one("li[aria-current]")["id"] == "m2512"
    assert page.select_one("a[rel=prev]")["href"] == "?at=2400"
    assert page.select_one("a[rel=next]")["href"] == "?at=2600"


def test_going_to_a_number_lands_on_its_message(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 300)
    answer = alice_client.get(f"/chats/{chat.pk}/?goto=%23250")
    assert answer["Location"] == f"/chats/{chat.pk}/?at=250#m250"
    for odd in ("99999", "-5", "x", "", "1e9"):
        assert soup(alice_client.get(f"/chats/{chat.pk}/?at={odd}")).select("li.msg")


def test_it_opens_where_the_unread_part_begins(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 900)
    read_up_to(chat, 845)
    assert soup(alice_client.get(f"/chats/{chat.pk}/")).select_one("li.msg")["id"] == "m800"


def test_text_of_a_chat_is_never_html(alice_client: Client, seraphine: Character) -> None:
    nasty = "<img src=x onerror=alert(1)> *waves* [link](javascript:alert(1)) ![p](http://x/y.png) <b>no</b>\n# Big"
    page = alice_client.get(f"/chats/{make_chat(seraphine, [nasty]).pk}/")
    text = soup(page).select_one(".msg-text")
    assert [tag.name for tag in text.find_all(True)] == ["p", "em", "br"]
    assert "<img src=x onerror=alert(1)>" in words(text)
    assert "# Big" in words(text)


@pytest.mark.parametrize("text", ["a" * 300_000, "*" * 5_000, "> " * 2_000, "[" * 5_000, "`" * 4_000])
def test_hostile_markdown_stays_short_and_clean(text: str) -> None:
    assert len(chat_html(text)) < 1_500_000


def test_hidden_and_unreadable_messages_are_marked(alice: User, alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 3)
    Message.objects.for_user(alice).filter(chat=chat, index=1).update(is_hidden=True)
    Message.objects.for_user(alice).filter(chat=chat, index=2).update(role="unreadable", line=4, text="", name="")
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert page.select_one("#m1 [aria-label='hidden from the model']")
    assert "Line 4 of the file cannot be read. It stays as it is." in words(page.select_one("#m2"))


def test_a_message_that_gave_memories_leads_to_them(alice: User, alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 4)
    message = Message.objects.for_user(alice).get(chat=chat, index=2)
    file = make_memory_file(seraphine, [])
    block = make_block(file, "A", ["Keeps a lantern."], chat=chat, first_index=0, last_index=3)
    block.memories.update(evidence=[{"identity": message.identity, "index": 2, "quote": ""}])
    mark = soup(alice_client.get(f"/chats/{chat.pk}/")).select_one("#m2 a.mark")
    assert mark["href"] == f"/memories/{block.memories.get().pk}/"
    assert mark["aria-label"] == "1 memory from this message"


def test_extracting_the_rest_reads_this_chat_only(
    alice_client: Client, seraphine: Character, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, str, object]] = []

    def start(_user: User, chat: Chat, character: Character | None, ends: object = None) -> None:
        started.append((chat.name, character.name if character else "", ends))

    monkeypatch.setattr("memories.views.chats.start_reading", start)
    chat = make_chat(seraphine, 4, name="Tea")
    button = soup(alice_client.get(f"/chats/{chat.pk}/")).select_one('#watermark button[formaction$="/extract/"]')
    alice_client.post(button["formaction"], {"whose": str(seraphine.pk)})
    assert started == [("Tea", "Seraphine", None)]


def test_counting_as_read_moves_the_line_to_the_end_without_a_model(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 5)
    alice_client.post(f"/chats/{chat.pk}/mark-read/")
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert [item.get("id") for item in page.select("ol.reader > li")][-1] == "watermark"
    assert "nothing new since" in words(page.select_one("#watermark"))


def test_an_empty_chat_says_so(alice_client: Client, seraphine: Character) -> None:
    page = soup(alice_client.get(f"/chats/{make_chat(seraphine, []).pk}/"))
    assert "This chat is empty" in words(page.select_one(".empty"))


def test_strangers_get_404(charlie_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 4)
    assert charlie_client.get(f"/chats/{chat.pk}/").status_code == 404
    for action in ("extract", "mark-read"):
        assert charlie_client.post(f"/chats/{chat.pk}/{action}/").status_code == 404
