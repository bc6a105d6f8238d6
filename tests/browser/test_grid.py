"""Sorting and choosing characters in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from jobs.models import Job
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_chat, make_connection, make_tavern

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_characters_are_sorted_chosen_and_read(live_server: Any, alice: User) -> None:
    make_connection(alice)
    tavern = make_tavern(alice)
    for name, messages in (("Milo", 3), ("Ada", 9), ("Wren", 6)):
        make_chat(make_character(tavern, name), messages)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/characters/")
        page.get_by_label("Sort").select_option(label="Most unread")
        page.wait_for_url("**sort=unread**")
        expect(page.locator("li.tile h2").first).to_have_text("Ada")
        page.get_by_label("Sort").select_option(label="Name")
        expect(page.locator("li.tile h2").nth(1)).to_have_text("Milo")
        page.get_by_role("link", name="Select").click()
        page.get_by_label("9 unread Ada").check()
        page.get_by_role("button", name="Extract the chosen ones").click()
        expect(page.locator("#toasts")).to_contain_text("Reading 1 character.")
        assert [job.label for job in Job.objects.for_user(alice)] == ["Extract Ada"]
        expect(page.locator("li.tile", has_text="Ada")).to_contain_text("extracting")
