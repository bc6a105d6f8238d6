"""The list of a character's chats."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from memories.chat_page import tree
from memories.models import Watermark
from sync.models import Chat
from tests.support.builders import make_block, make_character, make_chat, make_memory_file, make_tavern
from tests.support.pages import catch_extractions, soup, words


def test_each_chat_says_how_much_of_it_is_read(alice: User, alice_client: Client) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    half = make_chat(seraphine, 10, name="Half read")
    Watermark.objects.create(chat=half, character=seraphine, index=3)
    done = make_chat(seraphine, 4, name="All read", gone_at=None)
    Watermark.objects.create(chat=done, character=seraphine, index=3)
    make_block(make_memory_file(seraphine, []), "A", ["One.", "Two."], chat=done)
    make_chat(seraphine, 2, name="Gone", gone_at=timezone.now())
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/chats/"))
    rows = {words(row.select_one(".chat-name a")): row for row in page.select("tbody tr")}
    assert "6 unread" in words(rows["Half read"])
    assert rows["Half read"].select_one("svg.read-bar")["aria-label"] == "4 of 10 read"
    assert words(rows["All read"]).endswith("read") and "2" in words(rows["All read"].select("td")[4])
    assert "gone" in words(rows["Gone"])
    assert words(page.h2) == "6 messages are not read yet"


def test_branches_stand_below_the_chat_they_left(alice: User, alice_client: Client) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    trunk = make_chat(seraphine, 9, name="Trunk")
    make_chat(seraphine, 5, name="Branch", parent=trunk, parent_name="Trunk", fork_index=3)
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/chats/"))
    assert [words(a) for a in page.select(".chat-name a.strong")] == ["Trunk", "Branch"]
    assert "leaves Trunk at #3" in words(page.select("tbody tr")[1])


def test_a_circle_of_parents_loses_no_chat() -> None:
    a, b, c = Chat(name="a"), Chat(name="b"), Chat(name="c")
    a.parent_id, b.parent_id = b.pk, a.pk
    assert sorted(row.chat.name for row in tree([a, b, c], {}, {})) == ["a", "b", "c"]


def test_some_chats_can_be_chosen(alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    started = catch_extractions(monkeypatch, "characters")
    seraphine = make_character(make_tavern(alice), "Seraphine")
    chosen, _other = make_chat(seraphine, 3, name="Tea"), make_chat(seraphine, 3, name="Salt")
    alice_client.post(f"/characters/{seraphine.pk}/extract/", {"chat": [str(chosen.pk), "nonsense"]})
    assert started == [("Seraphine", "Tea")]
    foreign = make_chat(make_character(seraphine.tavern, "Rook"), 3)
    assert alice_client.post(f"/characters/{seraphine.pk}/extract/", {"chat": [str(foreign.pk)]}).status_code == 404


def test_the_number_of_queries_does_not_grow_with_chats(
    alice: User, alice_client: Client, django_assert_max_num_queries: Any
) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    for _n in range(40):
        make_chat(seraphine, 2)
    with django_assert_max_num_queries(36):
        page = soup(alice_client.get(f"/characters/{seraphine.pk}/chats/"))
    assert len(page.select("tbody tr")) == 40


def test_strangers_get_404(alice: User, charlie_client: Client) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    assert charlie_client.get(f"/characters/{seraphine.pk}/chats/").status_code == 404
