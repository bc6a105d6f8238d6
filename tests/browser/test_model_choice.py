"""Choosing a model in a real browser: typing narrows the list, arrow keys walk through it, Enter chooses."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from providers.models import ModelListing
from tests.support.browsing import signed_in
from tests.support.builders import make_connection

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_model_is_chosen_by_keyboard(live_server: Any, alice: User) -> None:
    with unscoped("an invented life"):
        row = make_connection(alice, preset="openrouter", model="maker/lantern-1")
        rows = [{"id": f"maker/lantern-{n}", "flags": ["open"] if n % 2 else []} for n in range(300)]
        ModelListing.objects.create(connection=row, models_json=rows)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/settings/models/{row.pk}/choose/")
        lines = page.locator("#found tr[data-item]")
        expect(lines).to_have_count(300)
        page.keyboard.press("f")
        page.keyboard.type("29 lantern")
        expect(lines).to_have_count(13)  # 29, 129, 229, 290 to 299
        page.get_by_label("Open source").check()
        expect(lines).to_have_count(8)
        page.locator("#q").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        wanted = lines.nth(1).locator(".mono").inner_text()
        expect(lines.nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#toasts")).to_contain_text(f"{wanted} is asked from now on.")
        expect(page.get_by_label("Model", exact=True)).to_have_value(wanted)
