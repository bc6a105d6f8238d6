"""Extraction by keyboard in a real browser: every deed from its key to its toast, and the focus stays where one was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from memories.chosen import choices_for
from memories.models import HeldMemory
from providers.models import Budget
from tests.support.browsing import Watched, signed_in
from tests.support.scenes import lived_in
from tests.support.scenes_quality import add_quality
from tests.support.scenes_reader import add_reader

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def scene(alice: User) -> dict[str, Any]:
    with unscoped("an invented life"):
        found = lived_in(alice)
        found |= add_quality(alice, found["character"], found["chat"])
        return found | add_reader(alice, found["character"], found["chat"])


@pytest.fixture
def seen(live_server: Any, alice: User, scene: dict[str, Any]) -> Iterator[Watched]:
    with signed_in(live_server.url, alice) as watched:
        yield watched


def said(page: Page) -> Any:
    return expect(page.locator("#toasts"))


def test_auto_is_switched_off_and_on(seen: Watched, alice: User, scene: dict[str, Any]) -> None:
    page = seen.open(f"/characters/{scene['character'].pk}/")
    switch = page.get_by_role("switch", name="Auto")
    switch.focus()
    page.keyboard.press("Space")
    said(page).to_contain_text("is read only when you press Extract")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_be_focused()
    page.keyboard.press("Enter")
    said(page).to_contain_text("is read by itself")
    expect(switch).to_be_focused()


def test_a_value_of_its_own_comes_and_goes(seen: Watched, alice: User, scene: dict[str, Any]) -> None:
    character = scene["character"]
    page = seen.open(f"/characters/{character.pk}/extraction/")
    field = page.get_by_role("spinbutton", name="At least between two readings")
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    said(page).to_contain_text("Saved.")
    expect(field).to_be_focused()
    assert choices_for(alice, character).cooldown_minutes == 7, "the tick came by itself"
    page.get_by_role("button", name="Back to the general value At least").focus()
    page.keyboard.press("Enter")
    said(page).to_contain_text("follows the general value again")
    expect(field).to_have_value("10")
    assert choices_for(alice, character).cooldown_minutes == 10


def test_chats_are_chosen_in_the_tree_and_read(seen: Watched, alice: User, scene: dict[str, Any]) -> None:
    page = seen.open("/batch/")
    tick = page.get_by_label("All chats of Hesper of the Fox Dance")
    tick.focus()
    page.keyboard.press("Space")
    expect(tick).to_be_checked()
    expect(page.get_by_label("The fox dance", exact=True)).to_be_checked()
    expect(page.locator("[data-sum]")).to_contain_text("604 messages, 31 calls")
    page.get_by_role("button", name="Read what is chosen").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*/")
    started = Job.objects.for_user(alice).filter(subject=f"character:{scene['empty'].pk}", state__in=Job.ACTIVE)
    assert started.count() == 1


def test_a_job_is_paused_and_goes_on(seen: Watched, alice: User, scene: dict[str, Any]) -> None:
    page = seen.open("/jobs/")
    page.get_by_role("button", name="Pause").first.focus()
    page.keyboard.press("Enter")
    said(page).to_contain_text("Paused.")
    assert Job.objects.for_user(alice).filter(is_held=True).count() == 1
    again = page.get_by_role("button", name="Go on").first
    again.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Go on")).to_have_count(0)
    assert not Job.objects.for_user(alice).filter(is_held=True).exists()


def test_held_memories_are_gone_through_without_losing_the_place(
    seen: Watched, alice: User, scene: dict[str, Any]
) -> None:
    page = seen.open(f"/characters/{scene['character'].pk}/review/held/")
    rows = HeldMemory.objects.for_user(alice).filter(state="waiting")
    before = rows.count()
    page.keyboard.press("j")
    page.keyboard.press("1")
    said(page).to_contain_text("Accepted")
    expect(page.locator(".review-list > li").first).to_be_focused()
    page.keyboard.press("2")
    said(page).to_contain_text("Refused")
    assert rows.count() == before - 2
    page.locator("#toasts").get_by_role("button", name="Undo").last.focus()
    page.keyboard.press("Enter")
    said(page).to_contain_text("waits here again")
    assert rows.count() == before - 1


def test_a_stretch_that_was_read_again_is_applied(seen: Watched, scene: dict[str, Any]) -> None:
    page = seen.open(f"/proposals/{scene['reread'].pk}/")
    page.keyboard.press("2")
    button = page.get_by_role("button", name="Add 2")
    expect(button).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")
    said(page).to_contain_text("Applied as revision")


def test_a_limit_is_set_and_a_wrong_one_is_explained(seen: Watched, alice: User) -> None:
    page = seen.open("/settings/budgets/")
    field = page.get_by_label("Dollars a month")
    field.focus()
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    said(page).to_contain_text("The limits are changed.")
    expect(field).to_be_focused()
    assert Budget.objects.get(person=alice).month_money == 6
