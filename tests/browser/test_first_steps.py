"""From nothing to memories in a real browser: the sample story, a model on this computer, the first chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from providers.catalogue import LocalPort
from tests.support.browsing import signed_in
from tests.support.fake_model import FakeModel

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_sample_story_reaches_memories(
    live_server: Any, alice: User, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    with FakeModel() as fake:
        port = int(fake.base_url.split(":")[2].split("/")[0])
        ports = (LocalPort("Kitchen box", port),)
        monkeypatch.setattr("memories.wizard.discover_local.__defaults__", (ports,))
        with signed_in(live_server.url, alice) as seen:
            page = seen.open("/")
            page.get_by_role("link", name="A sample story").click()
            page.get_by_role("button", name="Use the sample story").click()
            expect(page.get_by_role("heading", name="Who should read your chats?")).to_be_visible()
            with unscoped("the worker's part of the story"):
                run_until_idle()
            expect(page.locator("a.choice[aria-current]")).to_contain_text("Kitchen box")
            page.get_by_role("button", name="Test it").click()
            expect(page.locator("#test-part progress")).to_be_visible()
            with unscoped("the worker's part of the story"):
                run_until_idle()
            expect(page.locator("#test")).to_contain_text("Local server works.")
            page.get_by_role("button", name="Use Kitchen box").click()
            page.get_by_role("button", name="Read").click()
            expect(page.locator("#reading progress")).to_be_visible()
            with unscoped("the worker's part of the story"):
                run_until_idle()
            expect(page.locator("#reading .card").first).to_be_visible(timeout=10_000)
            expect(page.locator("#reading .checks")).to_contain_text("Vector Storage")
            page.get_by_role("link", name="Finish").click()
            expect(page.locator("ol.way > li")).to_have_count(4)
