"""The activity log in a real browser: it follows what happens, and opens beside a character's page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from memories import activity
from tests.support.browsing import WIDTHS, signed_in
from tests.support.scenes import lived_in
from tests.support.scenes_activity import add_activity, paths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("size", WIDTHS)
def test_log_and_limits_hold_in_every_width(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= add_activity(alice, scene["character"], scene["chat"])
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(list(paths(scene).values())) == []


def test_a_new_line_appears_by_itself_and_its_prompt_opens_beside(live_server: Any, alice: User) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= add_activity(alice, scene["character"], scene["chat"])
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/activity/")
        activity.note(alice, "began", "A line that came later.")
        expect(page.locator("#activity-live")).to_contain_text("A line that came later.", timeout=20_000)
        page.get_by_role("link", name="Show what was sent").first.click()
        expect(page.locator("#drawer[open]")).to_contain_text("I swore it on the lantern")
        assert seen.violations() == []
        page = seen.open(f"/characters/{scene['character'].pk}/")
        page.get_by_label("More actions").click()
        page.get_by_role("link", name="Activity").click()
        expect(page.locator("#drawer[open] h2")).to_have_text("Activity")
        assert seen.is_too_wide() == 0
        assert seen.violations() == []
