"""A freeform file becomes memories in a real browser, on a desktop and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from memories.memory_file import file_for, render
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_attachment, make_character, make_tavern
from tests.support.scenes_conversion import add_imports, paths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DIARY = "Marit keeps the small keys. She lent one to Bram in March.\n***\nNobody else may enter the archive.\n"


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_freeform_file_is_read_checked_and_saved(live_server: Any, alice: User, tmp_path: Path, size: str) -> None:
    character = make_character(make_tavern(alice), "Marit")
    make_attachment(character, "diary.txt", is_registered=True, is_ours=False)
    diary = tmp_path / "diary.txt"
    diary.write_text(DIARY, encoding="utf-16")
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/characters/{character.pk}/import/")
        page.get_by_label("A file from this computer").set_input_files(diary)
        page.get_by_role("button", name="Read the file").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("3 lines became 3 memories, 1 is left over")
        expect(page.locator(".left-over")).to_contain_text("no words in it")
        expect(page.locator(".lines .is-lost")).to_contain_text("***")
        assert seen.is_too_wide() == 0
        assert seen.violations() == []
        page.locator(".left-over").get_by_role("button", name="Leave out").click()
        expect(page.locator(".left-over")).to_have_count(0)
        memory = page.locator("li[data-memory]").filter(has_text="Nobody else may enter the archive.")
        expect(memory).to_contain_text("line 3")
        memory.locator(".edit-this").click()
        box = page.get_by_label("Wording of this memory")
        expect(box).to_be_focused()
        box.fill("Nobody but Marit may enter the archive.")
        box.press("Enter")
        expect(page.locator("li[data-memory]").filter(has_text="Nobody but Marit")).to_be_visible()
        page.get_by_role("button", name="Save 3").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("diary.txt is imported")
        expect(page.locator("#twice")).to_have_text("diary.txt still reaches the prompt too")
        assert "- Nobody but Marit may enter the archive." in render(file_for(character))
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert render(file_for(character)) == ""


@pytest.mark.parametrize("size", WIDTHS)
def test_the_pages_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = add_imports(alice, make_tavern(alice))
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths(scene).values()) == []
