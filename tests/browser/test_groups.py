"""Groups in a real browser: who somebody is, a member's menu by keyboard, and a page that moves while it is read."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from memories.members import roster
from tests.support.browsing import WIDTHS, signed_in
from tests.support.scenes import lived_in
from tests.support.scenes_groups import add_groups, paths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def scene_of(alice: User) -> dict[str, Any]:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        return add_groups(alice, scene["character"].tavern)


@pytest.mark.parametrize("size", WIDTHS)
def test_the_pages_of_groups_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    scene = scene_of(alice)
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths(scene).values()) == []


def test_an_unknown_speaker_is_named_and_the_toast_takes_it_back(live_server: Any, alice: User) -> None:
    group = scene_of(alice)["group"]
    with signed_in(live_server.url, alice, "desktop") as seen:
        page = seen.open(f"/groups/{group.pk}/")
        page.get_by_label("Who is Archivist?").select_option(label="The Archivist of Nothing in Particular")
        page.get_by_role("button", name="Use this").click()
        expect(page.get_by_text("“Archivist” is The Archivist of Nothing in Particular.")).to_be_visible()
        expect(page.locator("table.members")).to_contain_text("The Archivist of Nothing in Particular")
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Who is Archivist?")).to_be_visible()
    assert [one.name for one in roster(alice, group).unknown] == ["Archivist"]


def test_the_page_follows_the_reading(live_server: Any, alice: User) -> None:
    group = scene_of(alice)["group_running"]
    with signed_in(live_server.url, alice, "desktop") as seen:
        page = seen.open(f"/groups/{group.pk}/")
        expect(page.locator("#group-live")).to_contain_text("(2 of 4)")
        parts = Job.objects.for_user(alice).filter(parent__subject=f"group:{group.pk}")
        parts.filter(label__endswith="(2 of 4)").update(state=Job.State.DONE)
        parts.filter(label__endswith="(3 of 4)").update(state=Job.State.RUNNING)
        expect(page.locator("#group-live")).to_contain_text("(3 of 4)")
        parts.update(state=Job.State.DONE)
        Job.objects.for_user(alice).filter(subject=f"group:{group.pk}").update(state=Job.State.DONE)
        expect(page.locator("#group-live").get_by_role("button", name="Extract")).to_be_visible()
