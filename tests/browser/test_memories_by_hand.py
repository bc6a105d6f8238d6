"""Reading and editing memories in a real browser: drawer, undo, order, keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from memories import editing
from memories.memory_file import file_for
from memories.models import MemoryFile
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_chat, make_tavern
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(make_tavern(alice), "Seraphine"))
    bullets = ["[Seraphine — The oath]", "Swore an oath.", "Lit a lamp.", "Counted the steps."]
    editing.add_block(alice, file, "Descent", bullets)
    file.refresh_from_db()
    return file


def texts(file: MemoryFile) -> list[str]:
    return [row.text for block in file.blocks.all() for row in block.memories.filter(is_topic=False)]


def test_a_memory_is_edited_in_the_drawer_and_the_toast_takes_it_back(
    live_server: Any, alice: User, file: MemoryFile
) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        page.get_by_label("Actions for “Lit a lamp.”").click()
        drawer = page.locator("#drawer")
        expect(drawer.get_by_role("heading", name="Evidence")).to_be_focused()
        expect(page.locator("li.bullet[aria-current]")).to_contain_text("Lit a lamp.")
        drawer.get_by_role("link", name="Edit").click()
        box = drawer.get_by_label("Wording of this memory")
        expect(box).to_be_focused()
        box.fill("Lit the brass lamp.")
        box.press("Enter")
        expect(page.locator("#cards")).to_contain_text("Lit the brass lamp.")
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#cards")).to_contain_text("Lit a lamp.")
        assert texts(file) == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]


def test_the_keyboard_walks_opens_deletes_and_takes_back(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        for _step in range(3):
            page.keyboard.press("j")
        expect(page.locator("[data-at]")).to_contain_text("Lit a lamp.")
        page.keyboard.press(".")
        expect(page.locator("#drawer h2")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#drawer")).not_to_be_visible()
        page.keyboard.press(".")
        expect(page.locator("#drawer h2")).to_be_focused()
        page.keyboard.press("d")
        expect(page.locator("#toasts")).to_contain_text("Memory deleted.")
        assert texts(file) == ["Swore an oath.", "Counted the steps."]
        page.keyboard.press("u")
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert texts(file) == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_contain_text("Undo the last change")


def test_a_memory_is_dragged_to_another_place_of_its_card(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        bullets = page.locator("li.bullet")
        bullets.nth(2).drag_to(bullets.nth(0), target_position={"x": 40, "y": 3})
        expect(bullets.nth(0)).to_contain_text("Counted the steps.")
        wait_until(lambda: texts(file)[0] == "Counted the steps.")
        page.reload()
        expect(bullets.nth(0)).to_contain_text("Counted the steps.")


def test_finding_as_one_types_keeps_the_field(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        field = page.get_by_label("Find in memories")
        field.press_sequentially("lamp")
        expect(page.locator("li.bullet")).to_have_count(1)
        expect(field).to_be_focused()


def test_the_chat_reader_goes_to_a_number(live_server: Any, alice: User, file: MemoryFile) -> None:
    chat = make_chat(file.character, 900, name="Third descent")
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{chat.pk}/")
        page.get_by_label("Go to #").fill("512")
        page.locator("#goto").press("Enter")
        expect(page.locator("#m512")).to_be_in_viewport()
        page.locator("nav.pager a[rel=next]").first.click()
        expect(page.locator("#m600")).to_be_attached()
