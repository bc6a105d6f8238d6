"""Searching in a real browser: the key, results while typing, narrowing, the way to the place, without a script."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from search import index
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_character, make_chat, make_lorebook, make_memory_file, make_tavern

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def story(alice: User) -> User:
    tavern = make_tavern(alice)
    seraphine, rook = (
        make_character(tavern, "Seraphine of the Long and Winding Drowned Library"),
        make_character(tavern, "Rook"),
    )
    make_chat(seraphine, ["Two hands.", *[f"I hold the lantern {n}." for n in range(150)]], name="Third descent")
    make_chat(rook, ["She moved to the sea: 她搬到了海边.", "A" * 900 + " lantern " + "b " * 300], name="Ashore")
    blocks = [(f"Night {n}", [f"Lantern fact {n} {k}." for k in range(50)]) for n in range(5)]
    make_memory_file(seraphine, blocks)
    make_lorebook(tavern, "The Brass Lantern", "It burns whale oil. " * 40)
    with unscoped("a test fills the index"):
        index.step()
    return alice


def test_the_key_leads_to_the_field_and_results_come_while_typing(live_server: Any, story: User) -> None:
    with signed_in(live_server.url, story) as seen:
        page = seen.open("/characters/")
        page.keyboard.press("/")
        expect(page.locator("#find")).to_be_focused()
        page.keyboard.type("unicorn")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("“unicorn” was not found")
        field = page.locator("#q")
        field.fill("")
        field.press_sequentially("海边")
        expect(page.locator(".result mark")).to_have_text(["海边"])
        expect(field).to_be_focused()
        expect(page).to_have_url(re.compile(r"/search/\?q=%E6%B5%B7"))
        page.reload()
        expect(page.locator(".result mark")).to_have_text(["海边"])


def test_narrowing_and_going_to_a_message_and_to_a_card(live_server: Any, story: User) -> None:
    with signed_in(live_server.url, story) as seen:
        page = seen.open("/search/?q=lantern")
        page.locator(".facets").get_by_role("link", name="Chats 151").click()
        expect(page.locator(".result")).to_have_count(30)
        page.get_by_role("link", name="Next page").click()
        page.locator(".facets").get_by_role("link", name="Rook").click()
        expect(page.locator(".result")).to_have_count(1)
        page.keyboard.press("j")
        page.keyboard.press("o")
        expect(page.locator("#m1")).to_be_in_viewport()
        seen.open("/search/?q=%22fact+0+49%22&in=memories")
        page.locator(".result a.strong").click()
        expect(page.get_by_text("Lantern fact 0 49.")).to_be_in_viewport()


@pytest.mark.parametrize("size", WIDTHS)
def test_the_page_holds_in_every_width_and_theme(live_server: Any, story: User, size: str) -> None:
    with signed_in(live_server.url, story, size) as seen:
        assert (
            seen.judge(
                (
                    "/search/",
                    "/search/?q=lantern",
                    "/search/?q=lantern&in=messages&since=2020-01-01",
                    "/search/?q=unicorn",
                )
            )
            == []
        )
