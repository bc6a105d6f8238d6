"""Every page of the field, in three widths and both themes: no errors, nothing for axe, no sideways scroll."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from tests.support.browsing import WIDTHS, signed_in
from tests.support.scenes import lived_in
from tests.support.scenes_activity import add_activity
from tests.support.scenes_activity import paths as activity_pages
from tests.support.scenes_automatic import add_news
from tests.support.scenes_automatic import paths as automatic_pages
from tests.support.scenes_quality import add_quality
from tests.support.scenes_quality import paths as quality_pages
from tests.support.scenes_reader import add_reader
from tests.support.scenes_reader import paths as reader_pages
from tests.support.scenes_review import add_reviews
from tests.support.scenes_review import paths as review_pages
from tests.support.scenes_scopes import add_scopes
from tests.support.scenes_scopes import paths as scope_pages
from tests.support.scenes_through import add_through
from tests.support.scenes_through import paths as through_pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# What a character without memories shows on the pages of the manager.
EMPTY = (
    *("", "timeline/", "history/", "health/", "review/duplicates/", "consolidate/", "import/", "reformat/", "copy/"),
    *("trash/", "clear/", "layout/", "export/", "edit/"),
)


def pages(scene: dict[str, Any]) -> list[str]:
    pk = scene["character"].pk
    return [
        "/",
        "/characters/",
        "/characters/?choose=1",
        "/batch/",
        f"/characters/{pk}/",
        f"/characters/{pk}/?flag=unverified",
        *(f"/characters/{scene['empty'].pk}/{name}" for name in EMPTY),
        f"/characters/{pk}/chats/",
        f"/characters/{scene['failed'].pk}/health/",
        f"/characters/{pk}/history/",
        f"/revisions/{scene['revision'].pk}/",
        f"/characters/{pk}/settings/",
        f"/characters/{pk}/write/",
        f"/characters/{pk}/timeline/",
        f"/characters/{pk}/timeline/?by=story",
        f"/characters/{pk}/export/",
        f"/replace/?character={pk}&find=lantern&replace=lamp",
        "/export/",
        "/import/",
        f"/chats/{scene['chat'].pk}/?at=840",
        f"/memories/{scene['memory'].pk}/",
        f"/memories/{scene['memory'].pk}/edit/",
        f"/blocks/{scene['block'].pk}/",
        *review_pages(scene).values(),
        *automatic_pages(scene).values(),
        *activity_pages(scene).values(),
        *quality_pages(scene).values(),
        *reader_pages(scene).values(),
        *scope_pages(scene).values(),
        *through_pages(scene).values(),
        f"/conflicts/{scene['conflict'].pk}/",
        "/wizard/folder/",
        "/wizard/folder/?folder=sample",
        "/wizard/model/",
        "/wizard/model/?choose=builtin",
        "/wizard/first/",
        "/help/",
        "/help/?q=files",
        "/help/extraction/",
        "/about/",
    ]


@pytest.mark.parametrize("size", WIDTHS)
def test_pages_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= add_reviews(alice, scene["character"], scene["chat"])
        scene |= add_activity(alice, scene["character"], scene["chat"])
        scene |= add_quality(alice, scene["character"], scene["chat"])
        scene |= add_reader(alice, scene["character"], scene["chat"])
        scene |= add_news(alice, scene["character"], scene["chat"])
        scene |= add_scopes(alice, scene["character"].tavern)
        scene |= add_through(alice)
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(pages(scene)) == []


def test_the_open_drawer_holds_too(live_server: Any, alice: User) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
    for size in WIDTHS:
        with signed_in(live_server.url, alice, size) as seen:
            page = seen.open(f"/characters/{scene['character'].pk}/")
            page.locator("li.bullet a.icon-btn").nth(1).click()
            page.locator("#drawer[open] h2").wait_for()
            assert seen.is_too_wide() == 0
            assert seen.violations() == []


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_deeds_of_a_character_are_at_hand(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open(f"/characters/{scene['character'].pk}/")
        page.get_by_label("More actions").click()
        for name in (
            "Edit",
            "Pin",
            "Consolidate",
            "Import",
            "Copy",
            "Sort",
            "Find and",
            "Export",
            "Trash",
            "Clear all",
        ):
            deed = page.locator(".hero").get_by_role("link", name=re.compile(f"^{name}"))
            expect(deed.locator("visible=true")).to_have_count(1)
        assert seen.is_too_wide() == 0
        assert seen.violations() == []
        page.keyboard.press("Escape")
        expect(page.locator("#hero-menu > summary")).to_be_focused()


def test_the_tab_of_a_page_is_in_sight_on_a_phone(live_server: Any, alice: User) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
    with signed_in(live_server.url, alice, "phone") as seen:
        for path in ("history/", "layout/", "review/superseded/"):
            page = seen.open(f"/characters/{scene['character'].pk}/{path}")
            expect(page.locator(".tabs [aria-current], .segments [aria-current]").last).to_be_in_viewport(ratio=0.9)
