"""The search page: what is shown, where it leads, what it says when there is nothing."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories.memory_list import BULLETS_A_PAGE
from search import index
from tests.support.builders import make_character, make_chat, make_lorebook, make_memory_file, make_tavern, make_world
from tests.support.pages import soup, words


@pytest.fixture
def story(alice: User) -> User:
    tavern = make_tavern(alice)
    seraphine = make_character(tavern)
    make_chat(seraphine, ["Two hands.", "I hold the lantern <b>high</b>."], name="Third descent")
    make_memory_file(seraphine, [("Third descent", [f"Swore on lantern {n}." for n in range(7)])])
    make_lorebook(tavern, "The Brass Lantern", "It burns whale oil. " * 40)
    index.step()
    return alice


def test_without_a_question_it_says_how_to_ask(story: User, alice_client: Client) -> None:
    page = soup(alice_client.get("/search/"))
    assert "Words in quotes" in words(page.select_one(".empty"))
    assert "11 texts can be found." in words(page)
    assert page.select_one("#q[autofocus]")


def test_hits_stand_by_kind_with_marks_and_lead_to_their_place(story: User, alice_client: Client) -> None:
    page = soup(alice_client.get("/search/?q=LANTERN"))
    assert "“LANTERN” is in 9 places" in words(page.h1)
    assert [words(head) for head in page.select(".results h2")] == ["Memories 7", "Chats 1", "Lorebooks 1"]
    marks = {mark.text for mark in page.select(".result mark")}
    assert marks == {"lantern"}
    (message,) = page.select("section[aria-labelledby=messages] .result")
    assert "I hold the lantern <b>high</b>." in words(message)
    target = message.select_one("a.strong")["href"]
    assert target.endswith("?at=1#m1")
    assert soup(alice_client.get(target)).select_one("#m1[aria-current]")
    assert words(page.select_one("section[aria-labelledby=memories] .more-link")).startswith("2 more")
    (entry,) = page.select("section[aria-labelledby=lore] .result")
    assert "whale oil" in words(entry.select_one("details"))
    assert not entry.select("a")


def test_one_kind_has_pages_and_filters_keep_the_question(story: User, alice_client: Client) -> None:
    page = soup(alice_client.get("/search/?q=lantern&in=memories"))
    assert len(page.select(".result")) == 7
    assert page.select_one("#in option[selected]")["value"] == "memories"
    who = next(link for link in page.select(".facets a") if "Seraphine" in link.text)
    assert "q=lantern" in who["href"]
    assert "character=" in who["href"]
    narrowed = soup(alice_client.get(f"/search/{who['href']}"))
    assert narrowed.select_one("input[type=hidden][name=character]")
    assert len(narrowed.select(".result")) == 7


def test_filters_that_let_nothing_through_offer_a_way_out(story: User, alice_client: Client) -> None:
    page = soup(alice_client.get("/search/?q=lantern&until=1999-01-01"))
    assert "No text passes these filters." in words(page)
    way = page.select_one(".results .empty a")["href"]
    assert len(soup(alice_client.get(f"/search/{way}")).select(".result")) == 7


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("?q=unicorn", "“unicorn” was not found"),
        ("?q=-lantern", "Type at least one word to find."),
        ("?q=…", "Type at least one word to find."),
        ("?q=lantern&in=nonsense&character=x&chat=1&when=never&since=2026-02-31&until=zzz&page=zzz", "in 9 places"),
        ("?q=lantern&in=memories&page=99", "Memories 7"),
        ("?q=lantern&since=0001-01-01&until=9999-12-31", "“lantern” is in"),
        ("?q=%27%22%3B--", "Type at least one word to find."),
    ],
)
def test_odd_questions_get_an_answer(story: User, alice_client: Client, address: str, said: str) -> None:
    answer = alice_client.get(f"/search/{address}")
    assert answer.status_code == 200
    assert said in words(soup(answer))


def test_typing_swaps_the_results_and_the_head_alone(story: User, alice_client: Client) -> None:
    headers = {"HX-Request": "true", "HX-Target": "found"}
    page = soup(alice_client.get("/search/?q=lantern", headers=headers))
    assert page.select_one("#found .result")
    assert page.select_one("#search-head[hx-swap-oob]")
    assert not page.select("html, form, .topbar")


def test_a_memory_leads_to_the_page_that_holds_its_card(alice: User, alice_client: Client) -> None:
    character = make_character(make_tavern(alice))
    blocks = [(f"Night {n}", [f"Fact {n} {k}." for k in range(60)]) for n in range(6)]
    file = make_memory_file(character, blocks)
    oldest = file.blocks.get(order=0)
    bullet = oldest.memories.first()
    answer = alice_client.get(f"/memories/{bullet.pk}/place/")
    assert (
        answer.headers["Location"]
        == f"/characters/{character.pk}/?page={len(blocks) * 60 // BULLETS_A_PAGE}#m{bullet.pk}"
    )
    assert soup(alice_client.get(answer.headers["Location"])).select_one(f"#m{bullet.pk}")
    newest = file.blocks.get(order=5)
    assert alice_client.get(f"/blocks/{newest.pk}/place/").headers["Location"] == (
        f"/characters/{character.pk}/#b{newest.pk}"
    )


def test_a_memory_deep_in_an_endless_block_is_reached_too(alice: User, alice_client: Client) -> None:
    character = make_character(make_tavern(alice))
    block = make_memory_file(character, [("Night", [f"Fact {n}." for n in range(3 * BULLETS_A_PAGE)])]).blocks.get()
    bullet = block.memories.get(text=f"Fact {2 * BULLETS_A_PAGE + 5}.")
    answer = alice_client.get(f"/memories/{bullet.pk}/place/")
    assert soup(alice_client.get(answer.headers["Location"])).select_one(f"#m{bullet.pk}")


def test_it_says_when_the_index_is_behind(alice: User, alice_client: Client) -> None:
    make_world(alice)
    index.step(seconds=-1)
    assert "still being read into the index" in words(soup(alice_client.get("/search/?q=lantern")))
    index.step()
    assert "still being read" not in words(soup(alice_client.get("/search/?q=lantern")))


def test_bob_sees_nothing_of_alice_in_any_filter(alice: User, bob_client: Client) -> None:
    world = make_world(alice, "alicecanary")
    index.step()
    for address in ("?q=alicecanary", f"?q=line&character={world['character'].pk}", f"?q=line&chat={world['chat'].pk}"):
        answer = bob_client.get(f"/search/{address}")
        assert "alicecanary" not in answer.content.decode().replace("q=alicecanary", "").replace(
            "alicecanary”", ""
        ).replace('value="alicecanary"', "").replace("<title>alicecanary", "")
        assert not soup(answer).select(".result")


def test_a_row_that_was_deleted_a_moment_ago_is_left_out(story: User, alice_client: Client) -> None:
    from sync.models import Message

    Message.objects.for_user(story).filter(text__contains="lantern").delete()
    page = soup(alice_client.get("/search/?q=lantern"))
    assert not page.select("section[aria-labelledby=messages]")
