"""The grid of characters."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from memories.models import Memory, Watermark
from tests.support.builders import make_attachment, make_character, make_chat, make_memory_file, make_tavern
from tests.support.pages import catch_extractions, soup, words


def test_each_character_shows_its_counts_and_one_word_about_health(alice: User, alice_client: Client) -> None:
    tavern = make_tavern(alice, vectors={"enabled_files": True})
    reached = make_character(tavern, "Seraphine")
    attachment = make_attachment(reached, index_state="current")
    make_memory_file(reached, [("Oath", ["Swore.", "Kept it."]), ("Tea", ["Salted."])], attachment=attachment)
    chat = make_chat(reached, 12)
    Watermark.objects.create(chat=chat, character=reached, index=4)
    lost = make_character(tavern, "Rook & Ember")
    make_memory_file(lost, [("Fire", ["Burned the letter."])])
    page = soup(alice_client.get("/characters/"))
    tiles = {words(tile.h2): words(tile) for tile in page.select("li.tile")}
    assert "3 memories · 2 blocks" in tiles["Seraphine"]
    assert "7 unread" in tiles["Seraphine"]
    assert "healthy" in tiles["Seraphine"]
    assert "not registered" in tiles["Rook & Ember"]
    assert "1 needs attention" in words(page.select_one("header.page-head"))


def test_filters_and_sorting_choose_the_tiles(alice: User, alice_client: Client) -> None:
    tavern = make_tavern(alice)
    for name in ("Wren", "Ada"):
        make_character(tavern, name)
    make_chat(make_character(tavern, "Milo"), 3, last_at=timezone.now())

    def names(query: str) -> list[str]:
        return [words(tile.h2) for tile in soup(alice_client.get(f"/characters/{query}")).select("li.tile")]

    assert names("?sort=name") == ["Ada", "Milo", "Wren"]
    assert names("?show=unread") == ["Milo"]
    assert names("?show=recent") == ["Milo"]
    assert names("?show=attention") == []
    assert names("?sort=nonsense&show=nonsense&page=99")


def test_what_waits_for_review_is_counted_on_home_and_listed_by_character(alice: User, alice_client: Client) -> None:
    tavern = make_tavern(alice)
    make_memory_file(make_character(tavern, "Wren"), [("Harbour", ["Left.", "Met Ossian."])])
    make_memory_file(make_character(tavern, "Milo"), [("Tea", ["Salted."])])
    Memory.objects.for_user(alice).filter(text="Met Ossian.").update(is_unverified=True)
    link = soup(alice_client.get("/")).select_one("#needs .panel-foot a")
    assert words(link) == "1 thing to review"
    tiles = soup(alice_client.get(link["href"])).select("li.tile")
    assert [words(tile.h2) for tile in tiles] == ["Wren"]
    (of_wren,) = (a for a in tiles[0].select("a") if words(a) == "1 to review")
    queue = soup(alice_client.get(of_wren["href"]))
    assert [words(row) for row in queue.select(".review-card .memory-text")] == ["Met Ossian."]


def test_the_number_of_queries_does_not_grow_with_characters(
    alice: User, alice_client: Client, django_assert_max_num_queries: Any
) -> None:
    tavern = make_tavern(alice)
    for n in range(30):
        character = make_character(tavern, f"Character {n}")
        make_chat(character, 3)
        make_memory_file(character, attachment=make_attachment(character))
    with django_assert_max_num_queries(22):
        assert len(soup(alice_client.get("/characters/")).select("li.tile")) == 30


def test_strangers_see_none_of_them(alice: User, charlie_client: Client) -> None:
    make_character(make_tavern(alice), "Seraphine")
    page = charlie_client.get("/characters/")
    assert b"Seraphine" not in page.content
    assert "Take the first steps" in words(soup(page))


def test_names_from_cards_are_text(alice: User, alice_client: Client) -> None:
    make_character(make_tavern(alice), "<script>alert(1)</script>", avatar="x.png")
    page = alice_client.get("/characters/")
    assert b"<script>alert(1)" not in page.content
    assert b"&lt;script&gt;alert(1)" in page.content


def test_choosing_some_characters_starts_a_job_for_each(
    alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = catch_extractions(monkeypatch, "characters")
    tavern = make_tavern(alice)
    chosen, other, read = (make_character(tavern, name) for name in ("Ada", "Milo", "Wren"))
    make_chat(chosen, 4)
    make_chat(other, 4)
    page = soup(alice_client.get("/characters/?choose=1"))
    boxes = page.select("input[name=character]")
    assert [box.has_attr("disabled") for box in boxes if box["value"] == str(read.pk)] == [True]
    alice_client.post("/characters/extract/", {"character": [str(chosen.pk), str(read.pk)]})
    assert started == [("Ada", "")]
