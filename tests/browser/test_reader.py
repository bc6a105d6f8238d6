"""The chat reader in a real browser: five thousand messages, the keyboard alone, a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.ownership import unscoped
from memories import queries
from sync.models import Character, Chat
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_chat, make_tavern
from tests.support.reading import read

ROWS = "document.querySelectorAll('#reader > .msg')"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


@pytest.fixture
def long(seraphine: Character) -> Chat:
    """Five thousand messages, of which two thousand were read."""
    texts = [f"Line {n} of the story. The tide goes on." for n in range(5000)]
    texts[4321] = "Nobody but a warden has carried the QUICKSILVER lantern."
    chat = make_chat(seraphine, texts)
    with unscoped("messages that were read"):
        read(chat, seraphine, 0, 1999)
    return chat


def numbers(page: Page) -> list[int]:
    return page.evaluate(f"[...{ROWS}].map(one => one.value)")


def unread(chat: Chat, character: Character) -> int:
    return queries.reading_of(chat.tavern.owner, chat, character).waiting


def test_scrolling_goes_on_and_the_page_stays_small(live_server: Any, alice: User, long: Chat) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{long.pk}/?at=1000")
        for last in (1299, 1499, 1799):
            target = f"#m{last}"
            while not page.locator(target).count():
                before = numbers(page)[-1]
                page.evaluate("document.querySelector('#reader > .msg:last-of-type').scrollIntoView()")
                page.wait_for_function(f"() => [...{ROWS}].at(-1).value > {before}")
            found = numbers(page)
            assert found == list(range(found[0], found[-1] + 1)), "none is missing and none is there twice"
            assert page.locator("#reader > li").count() <= 400
        assert numbers(page)[0] > 1000, "what is far away was let go"
        page.locator("#reader > .msg").first.scroll_into_view_if_needed()
        page.wait_for_function(f"() => {ROWS}[0].value < {numbers(page)[0]}")
        assert page.locator("#reader > li").count() <= 400


def test_what_is_on_the_screen_stays_where_it_is(live_server: Any, alice: User, long: Chat) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{long.pk}/?at=1003#m1003")
        page.wait_for_function(f"() => {ROWS}[0].value < 1000")
        box = page.locator("#m1003").bounding_box()
        assert box is not None and 0 <= box["y"] < 900, "messages put in above did not push it away"


def test_a_screen_that_shows_more_than_the_page_keeps_is_filled_once(live_server: Any, alice: User, long: Chat) -> None:
    """What is let go at one end must not be fetched again at the other, for ever."""
    with signed_in(live_server.url, alice) as seen:
        seen.page.set_viewport_size({"width": 1440, "height": 60_000})
        asked: list[str] = []
        seen.page.on("request", lambda request: asked.append(request.url) if "part=1" in request.url else None)
        page = seen.open(f"/chats/{long.pk}/?at=2500")
        quiet = 0
        while quiet < 3:
            before = len(asked)
            assert before < 40, "it fetches without an end"
            page.wait_for_timeout(1000)
            quiet = quiet + 1 if len(asked) == before else 0
        found = numbers(page)
        assert found == list(range(found[0], found[-1] + 1)) and len(found) > 400
        heights = page.evaluate("document.getElementById('reader').getBoundingClientRect().height")
        assert heights > 60_000, "the screen is full"


def test_jumping_and_finding_in_five_thousand_messages(live_server: Any, alice: User, long: Chat) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{long.pk}/")
        expect(page.locator("#watermark")).to_contain_text("Extracted up to here")
        page.keyboard.press("#")
        page.locator("#goto").fill("3210")
        page.keyboard.press("Enter")
        expect(page.locator("#m3210")).to_be_in_viewport()
        page.keyboard.press("f")
        page.get_by_label("Find in this chat").fill("quicksilver")
        page.keyboard.press("Enter")
        expect(page.locator("#m4321 mark")).to_have_text("QUICKSILVER")
        expect(page.locator(".find-bar")).to_contain_text("1 of 1 messages")
        page.get_by_label("End the search").click()
        page.locator("#on-day").fill("2026-03-02")
        page.locator("#on-day").press("Enter")
        expect(page.locator("li.msg[aria-current]")).to_be_in_viewport()


def test_the_keyboard_alone_sets_the_point_and_takes_it_back(
    live_server: Any, alice: User, seraphine: Character
) -> None:
    chat = make_chat(seraphine, 12)
    with unscoped("messages that were read"):
        read(chat, seraphine, 0, 7)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{chat.pk}/")
        for _step in range(4):
            page.keyboard.press("j")
        page.keyboard.press("k")
        expect(page.locator("[data-at]")).to_have_id("m2")
        page.keyboard.press(".")
        first = page.locator("#m2 .menu a, #m2 .menu button").first
        expect(first).to_be_focused()
        for _step in range(2):
            page.keyboard.press("ArrowDown")
        focused = page.locator("#m2 .menu a:focus")
        expect(focused).to_have_text("Set as extracted point")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Set #2 as the extracted point")).to_be_visible()
        expect(page.locator("#modal")).to_contain_text("5 messages that were read are unread again")
        expect(page.get_by_role("button", name="Set the point")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#toasts")).to_contain_text("Everything up to #2 counts as read now.")
        assert unread(chat, seraphine) == 9
        page.locator("#toasts").get_by_role("button", name="Undo").press("Enter")
        expect(page.locator("#toasts")).to_contain_text("Undone")
        assert unread(chat, seraphine) == 4
        page.keyboard.press("j")
        page.keyboard.press(".")
        page.keyboard.press("Escape")
        expect(page.locator("#m0 summary")).to_be_focused()


def test_it_holds_on_a_phone_with_an_open_menu(live_server: Any, alice: User, seraphine: Character) -> None:
    chat = make_chat(seraphine, 30)
    with unscoped("messages that were read"):
        read(chat, seraphine, 0, 7)
    with signed_in(live_server.url, alice, "phone") as seen:
        page = seen.open(f"/chats/{chat.pk}/")
        page.get_by_label("Actions for message 9").click()
        expect(page.locator("#m9 .menu")).to_be_in_viewport(ratio=1)
        assert (seen.violations(), seen.is_too_wide()) == ([], 0)
        page.locator("#m9 .menu").get_by_text("Read from here to…").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Messages #9 to #29")
        assert (seen.violations(), seen.is_too_wide()) == ([], 0)


def test_it_can_be_read_without_scripts(live_server: Any, alice: User, long: Chat) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{long.pk}/?at=0")
        page.route("**/*.js", lambda route: route.abort())
        page.reload()
        page.locator("#m3 summary").click()
        page.locator("#m3 .menu").get_by_text("Set as extracted point").click()
        expect(page.locator("main")).to_contain_text("1,996 messages that were read are unread again")
        page.wait_for_load_state("networkidle")
        seen.troubles.clear()  # each script that was not let through is one
