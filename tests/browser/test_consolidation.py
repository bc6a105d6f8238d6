"""Memories are brought together in a real browser: choose, run, review, edit, apply, and take it all back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from memories.memory_file import change, file_for, render
from memories.models import MemoryFile
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_character, make_connection, make_tavern
from tests.support.consolidating import Merger
from tests.support.scenes_consolidation import NIGHTS, add_consolidations, paths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    file = file_for(make_character(make_tavern(alice), "Halvard"))
    with change(file, reason="the nights") as editor:
        for topic, facts in NIGHTS.items():
            editor.add_block(topic, [f"[Halvard, Wren — {topic}]", *facts], date="2026-03-10 21:00", origin="extracted")
    return file


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_choose_run_review_apply_and_undo(
    live_server: Any, alice: User, file: MemoryFile, fake: Merger, size: str
) -> None:
    lost = NIGHTS["Small habits"][1]
    fake.lose = {lost}
    before = render(file)
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/characters/{file.character_id}/consolidate/")
        price = page.locator("#price")
        expect(price).to_contain_text("12 memories in 4 blocks")
        page.get_by_label("Maren").uncheck()
        expect(price).to_contain_text("9 memories in 3 blocks")
        page.get_by_label("Maren").check()
        expect(price).to_contain_text("12 memories in 4 blocks")
        price.get_by_role("button", name="Run").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bringing memories together")
        run_until_idle(alice)
        expect(page.get_by_role("heading", level=1)).to_have_text("12 memories became 6", timeout=15_000)
        box = page.locator("#lost")
        expect(box).to_contain_text(lost)
        assert seen.is_too_wide() == 0
        assert seen.violations() == []
        expect(page.locator(".selection-bar")).to_contain_text("Apply 6, lose 1")
        box.get_by_role("button", name="Keep it").click()
        expect(page.locator("#lost")).to_have_count(0)
        memory = page.locator("li[data-memory]").filter(has_text="Only wardens may carry")
        memory.locator(".edit-this").click()
        wording = page.get_by_label("Wording of this memory")
        expect(wording).to_be_focused()
        wording.fill("Only wardens carry the brass lantern while it burns.")
        wording.press("Enter")
        expect(page.locator("#edit-bar")).to_contain_text("2 changes of yours")
        assert render(file) == before
        page.get_by_role("button", name="Apply 7").click()
        expect(page.locator("#toasts")).to_contain_text("Applied as revision")
        text = render(file)
        assert lost in text and "- Only wardens carry the brass lantern while it burns." in text
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Taken back.")
        assert render(file) == before


@pytest.mark.parametrize("size", WIDTHS)
def test_the_pages_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = add_consolidations(alice, make_tavern(alice))
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths(scene).values()) == []
