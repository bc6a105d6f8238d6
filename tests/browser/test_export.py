"""Out of one CharMem and into another, in a real browser: download, look, import, take back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from memories import memory_file
from memories.models import MemoryFile
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_memory_file, make_tavern

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NASTY = "<script>document.title = 'hacked'</script> She hums."


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_an_export_goes_to_another_persons_character(
    live_server: Any, alice: User, bob: User, tmp_path: Path, size: str
) -> None:
    file = make_memory_file(make_character(make_tavern(alice), "Seraphine"), [("Oath", ["Swore an oath.", NASTY])])
    make_character(make_tavern(bob), "Seraphine of the Drowned Library and of Everything Below the Waterline")
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/characters/{file.character_id}/export/")
        with page.expect_download() as download:
            page.get_by_role("button", name="JSON").click()
        download.value.save_as(tmp_path / "export.json")
        with page.expect_download() as download:
            page.get_by_role("link", name="Book").click()
        download.value.save_as(tmp_path / "book.html")
        page.goto((tmp_path / "book.html").as_uri())
        expect(page.locator("li").last).to_have_text(NASTY)
        expect(page).to_have_title("What Seraphine remembers")
        assert seen.violations() == []
    with signed_in(live_server.url, bob, size) as seen:
        page = seen.open("/import/")
        page.get_by_label("Export file").set_input_files(tmp_path / "export.json")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Nothing would be added")
        page.get_by_label("Where the memories of Seraphine go").select_option(index=1)
        page.get_by_role("button", name="Count again").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("2 memories would be added")
        assert seen.violations() == []
        assert seen.is_too_wide() == 0
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.locator("#toasts")).to_contain_text("2 memories imported.")
        assert memory_file.render(MemoryFile.objects.for_user(bob).get()) == memory_file.render(file)
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert not MemoryFile.objects.for_user(bob).get().blocks.exists()
