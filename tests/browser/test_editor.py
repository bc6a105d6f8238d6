"""Editing memories in a real browser: journeys with the mouse, with the keyboard alone, and on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.ownership import unscoped
from memories import drafts, editing
from memories.memory_file import file_for
from memories.models import Draft, Memory, MemoryFile
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_character, make_memory_file, make_tavern
from tests.support.scenes import lived_in
from tests.support.scenes_editor import add_edits, paths
from tests.support.waiting import wait_until

SAVE = re.compile(r"^Save \d+ changes?$")

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(make_tavern(alice), "Seraphine"))
    first = ["[Seraphine — The oath]", "Swore an oath.", "Lit a lamp.", "Counted the steps."]
    editing.add_block(alice, file, "Descent", first)
    file.refresh_from_db()
    editing.add_block(alice, file, "Ascent", ["[Seraphine — The way up]", "Climbed alone.", "Sang on the landing."])
    file.refresh_from_db()
    return file


def texts(file: MemoryFile) -> list[list[str]]:
    blocks = file.blocks.order_by("order")
    return [[row.text for row in block.memories.all() if not row.is_topic] for block in blocks]


def memory(file: MemoryFile, text: str) -> Memory:
    rows = Memory.objects.for_user(file.owner).select_related("block__file__owner")
    return rows.get(block__file=file, text=text)


def row(page: Page, text: str) -> Any:
    return page.locator("li[data-memory]").filter(has_text=text)


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_edit_undo_redo_and_save(live_server: Any, alice: User, file: MemoryFile, size: str) -> None:
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        page.get_by_role("link", name="Edit", exact=True).click()
        row(page, "Lit a lamp.").locator(".edit-this").click()
        box = page.get_by_label("Wording of this memory")
        expect(box).to_be_focused()
        box.fill("Lit the brass lamp.")
        box.press("Enter")
        expect(row(page, "Lit the brass lamp.")).to_be_visible()
        bar = page.locator("#edit-bar")
        expect(bar).to_contain_text("1 change")
        row(page, "Counted the steps.").locator(".grip").click()
        page.locator("#modal").get_by_role("button", name="Delete").click()
        expect(page.locator("#modal")).not_to_be_visible()
        expect(row(page, "Counted the steps.")).to_have_count(0)
        expect(bar).to_contain_text("2 changes")
        page.get_by_role("button", name="Undo: Deleted: Counted the steps.").click()
        expect(row(page, "Counted the steps.")).to_be_visible()
        page.get_by_role("button", name="Redo: Deleted: Counted the steps.").click()
        expect(row(page, "Counted the steps.")).to_have_count(0)
        page.reload()
        expect(row(page, "Lit the brass lamp.")).to_be_visible()
        assert seen.is_too_wide() == 0
        assert texts(file)[0] == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]
        page.get_by_role("button", name=SAVE).click()
        expect(page.locator("#toasts")).to_contain_text("Saved as revision 3.")
        assert texts(file)[0] == ["Swore an oath.", "Lit the brass lamp."]
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert texts(file)[0] == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]


def test_a_whole_edit_with_the_keyboard_alone(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/")
        keys = page.keyboard
        keys.press("e")
        page.wait_for_url("**/drafts/**")
        keys.press("j")
        keys.press("j")
        expect(page.locator("[data-at]")).to_contain_text("Climbed alone.")
        keys.press("e")
        box = page.get_by_label("Wording of this memory")
        expect(box).to_be_focused()
        keys.press("End")
        keys.type(" In the dark.")
        keys.press("Enter")
        expect(row(page, "Climbed alone. In the dark.")).to_be_visible()
        keys.press("j")
        expect(page.locator("[data-at]")).to_contain_text("Sang on the landing.")
        keys.press("e")
        expect(box).to_be_focused()
        keys.type(" never")
        keys.press("Escape")
        expect(row(page, "Sang on the landing.")).to_be_visible()
        row(page, "Sang on the landing.").locator(".grip").focus()
        keys.press("ArrowUp")
        expect(page.locator("li[data-memory]").first).to_contain_text("Sang on the landing.")
        expect(row(page, "Sang on the landing.").locator(".grip")).to_be_focused()
        for _step in range(2):
            keys.press("j")
        keys.press("j")
        keys.press("x")
        keys.press("j")
        keys.press("x")
        expect(page.locator("#chosen")).to_contain_text("2 memories chosen")
        keys.press("D")
        expect(page.locator("#edit-bar")).to_contain_text("3 changes")
        keys.press("Control+z")
        expect(page.locator("#edit-bar")).to_contain_text("2 changes")
        keys.press("s")
        expect(page.locator("#toasts")).to_contain_text("Saved as revision 3.")
        assert texts(file)[1] == ["Sang on the landing.", "Climbed alone. In the dark."]
        assert texts(file)[0] == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]


def test_writing_on_and_on_with_enter(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        page.get_by_role("link", name="Add a memory").first.click()
        box = page.get_by_label("New memory")
        for line in ("Found a key.", "Kept the key."):
            expect(box).to_be_focused()
            expect(box).to_have_value("")
            page.keyboard.type(line)
            page.keyboard.press("Enter")
            expect(row(page, line)).to_be_visible()
        expect(box).to_be_focused()
        page.keyboard.press("Enter")
        expect(box).to_have_count(0)
        page.get_by_role("button", name=SAVE).click()
        expect(page.locator("#toasts")).to_contain_text("Saved as revision 3.")
        assert texts(file)[1] == ["Climbed alone.", "Sang on the landing.", "Found a key.", "Kept the key."]


def test_what_is_being_written_is_saved_too(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        for old, new in (("Lit a lamp.", "Lit two lamps."), ("Climbed alone.", "Climbed with Wren.")):
            row(page, old).locator(".edit-this").click()
            field = page.locator("textarea").last if old == "Lit a lamp." else page.locator("textarea").first
            expect(field).to_be_focused()
            field.fill(new)
        row(page, "Swore an oath.").locator(".check").click()
        page.get_by_role("button", name="Save", exact=True).click()  # nothing is finished yet, so it counts none
        wait_until(lambda: texts(file)[0] == ["Swore an oath.", "Lit two lamps.", "Counted the steps."])
        assert texts(file)[1] == ["Climbed with Wren.", "Sang on the landing."]


def test_bullets_and_blocks_are_dragged(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        target = row(page, "Climbed alone.")
        row(page, "Lit a lamp.").locator(".grip").drag_to(target, target_position={"x": 60, "y": 4})
        expect(page.locator("li[data-memory]").first).to_contain_text("Lit a lamp.")
        lower = page.locator("article.card").nth(1)
        lower.locator(".card-head .grip").drag_to(
            page.locator("article.card").nth(0), target_position={"x": 60, "y": 4}
        )
        expect(page.locator("article.card h3").first).to_have_text("The oath")
        page.get_by_role("button", name=SAVE).click()
        expect(page.locator("#toasts")).to_contain_text("Saved as revision 3.")
        assert texts(file) == [
            ["Lit a lamp.", "Climbed alone.", "Sang on the landing."],
            ["Swore an oath.", "Counted the steps."],
        ]


def test_chosen_memories_are_copied_to_somebody_else(live_server: Any, alice: User, file: MemoryFile) -> None:
    rook = make_character(file.character.tavern, "Rook")
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        row(page, "Lit a lamp.").locator(".check").check()
        row(page, "Climbed alone.").locator(".check").check()
        page.locator("#chosen").get_by_role("button", name="Move or copy").click()
        dialog = page.locator("#modal")
        expect(dialog.get_by_label("Find a place")).to_be_focused()
        dialog.get_by_label("Find a place").fill("roo")
        expect(dialog.locator(".place")).to_have_count(1)
        dialog.get_by_text("Rook").click()
        dialog.get_by_role("button", name="Copy").click()
        expect(page.locator("#toasts")).to_contain_text("They arrive with Rook when you save.")
        page.get_by_role("button", name=SAVE).click()
        expect(page.locator("#toasts")).to_contain_text("Saved")
        assert sorted(text for block in texts(file_for(rook)) for text in block) == ["Climbed alone.", "Lit a lamp."]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_what_both_changed_is_merged_by_block(live_server: Any, alice: User, file: MemoryFile, size: str) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Wording") as editor:
        editor.set_text(memory(file, "Lit a lamp.").pk, "Lit two lamps.")
    editing.edit_memory(alice, memory(file, "Lit a lamp."), "Lit a green lamp.")
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/drafts/{draft.pk}/")
        page.get_by_role("button", name="Save").last.click()
        expect(page.get_by_role("heading", name="1 block changed while you were editing")).to_be_visible()
        assert seen.is_too_wide() == 0
        page.get_by_text("Keep both, one below the other").click()
        page.get_by_role("button", name="Save as revision 4").click()
        expect(page.locator("#toasts")).to_contain_text("Saved as revision 4")
        assert "Lit two lamps." in texts(file)[0] and "Lit a green lamp." in texts(file)[0]


def test_ten_thousand_memories_open_like_few(live_server: Any, alice: User) -> None:
    blocks = [(f"Chat {n}", [f"Fact {n}-{m}." for m in range(40)]) for n in range(250)]
    file = make_memory_file(make_character(make_tavern(alice), "Seraphine"), blocks)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        assert 0 < page.locator("li[data-memory]").count() <= 400
        page.locator("nav.pager a[rel=next]").click()
        assert 0 < page.locator("li[data-memory]").count() <= 400
        page.locator("[data-choose-all]").click()
        expect(page.locator("#chosen")).to_contain_text("memories chosen")
    assert Draft.objects.for_user(alice).count() == 1


@pytest.mark.parametrize("size", WIDTHS)
def test_pages_of_editing_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= add_edits(alice, scene["character"], scene["failed"])
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths(scene).values()) == []


def test_dialogs_and_chosen_rows_hold_too(live_server: Any, alice: User, file: MemoryFile) -> None:
    rook = make_character(file.character.tavern, "Rook")
    assert rook.pk
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/edit/")
        row(page, "Lit a lamp.").locator(".check").check()
        row(page, "Climbed alone.").locator(".edit-this").click()
        page.get_by_label("Wording of this memory").wait_for()
        assert seen.violations() == []
        page.keyboard.press("Escape")
        for button in ("Move or copy", "Merge into one", "Label"):
            page.locator("#chosen").get_by_role("button", name=button).click()
            page.locator("#modal[open] h2").wait_for()
            assert seen.violations() == []
            page.keyboard.press("Escape")
            expect(page.locator("#modal")).not_to_be_visible()
