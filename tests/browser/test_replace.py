"""Find and replace everywhere, and out of an open edit, in a real browser on desktop and phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from memories import drafts, memory_file
from memories.memory_file import file_for
from memories.models import MemoryFile
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_memory_file, make_tavern

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BLOCKS = [("The lantern oath", ["The user lit the lamp.", "Nobody but the user may carry it.", "She hums."])]


@pytest.fixture
def files(alice: User) -> list[MemoryFile]:
    tavern = make_tavern(alice)
    one = make_memory_file(make_character(tavern, "Seraphine"), BLOCKS)
    blocks = [("Owl", ["Owes the user a feather.", "Users are wise."]), ("A name", ["Calls the user little tide."])]
    other = make_memory_file(make_character(tavern, "Flux"), blocks)
    with memory_file.change(other, reason="Locked", author=alice) as editor:
        editor.set_block(other.blocks.get(label="A name").pk, is_locked=True)
    return [one, other]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_name_is_replaced_everywhere_and_taken_back(
    live_server: Any, alice: User, files: list[MemoryFile], size: str
) -> None:
    before = [memory_file.render(file) for file in files]
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open("/replace/")
        page.get_by_label("Find", exact=True).press_sequentially("user")
        expect(page.locator("#found-head")).to_have_text("5 places in 5 memories")
        page.get_by_label("Whole words").check()
        expect(page.locator("#found-head")).to_have_text("4 places in 4 memories")
        page.get_by_label("Find", exact=True).fill("the user")
        page.get_by_label("Replace with").fill("Wren")
        expect(page.locator(".far-row ins")).to_have_count(3)
        expect(page.locator(".far-row.is-locked")).to_contain_text("locked, will not be replaced")
        assert seen.violations() == []
        assert seen.is_too_wide() == 0
        page.get_by_role("button", name="Replace 3").click()
        expect(page.locator("#toasts")).to_contain_text("Replaced in 3 places.")
        expect(page.locator("#found-head")).to_have_text("1 place in 1 memory")
        assert "Nobody but Wren may carry it." in memory_file.render(files[0])
        assert "Owes Wren a feather." in memory_file.render(files[1])
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert [memory_file.render(file) for file in files] == before


def test_a_wrong_pattern_is_explained_while_it_is_typed(live_server: Any, alice: User, files: list[MemoryFile]) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/replace/")
        page.get_by_label("Pattern").check()
        page.get_by_label("Find", exact=True).press_sequentially("(the")
        expect(page.get_by_role("alert")).to_contain_text("not a valid pattern")
        assert seen.violations() == []
        page.get_by_label("Find", exact=True).fill(r"(the) user")
        page.get_by_label("Replace with").fill(r"\1 warden")
        expect(page.locator(".far-row ins").first).to_have_text("the warden")


def test_with_the_keyboard_alone(live_server: Any, alice: User, files: list[MemoryFile]) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/replace/?character={files[1].character_id}")
        page.get_by_label("Find", exact=True).focus()
        page.keyboard.type("Owes")
        page.keyboard.press("Tab")
        page.keyboard.type("Owed")
        page.keyboard.press("Enter")
        button = page.get_by_role("button", name="Replace 1")
        expect(button).to_be_visible()
        for _step in range(12):
            page.keyboard.press("Tab")
            if button.evaluate("node => node === document.activeElement"):
                break
        page.keyboard.press("Enter")
        expect(page.locator("#toasts")).to_contain_text("Replaced in 1 place.")
        assert "Owed the user a feather." in memory_file.render(files[1])


def test_out_of_an_open_edit_it_is_one_step(live_server: Any, alice: User, files: list[MemoryFile]) -> None:
    file = file_for(files[0].character)
    draft = drafts.open_edit(alice, file)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/drafts/{draft.pk}/")
        page.get_by_role("link", name="Find and replace").click()
        page.get_by_label("Find", exact=True).fill("the user")
        page.get_by_label("Replace with").fill("Wren")
        page.get_by_role("button", name="Replace 2").click()
        expect(page.locator("main")).to_contain_text("Wren lit the lamp.")
        page.locator("#undo").click()
        expect(page.locator("main")).to_contain_text("The user lit the lamp.")
    assert "Wren" not in memory_file.render(file)
