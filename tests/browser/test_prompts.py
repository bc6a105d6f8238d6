"""Prompts, layouts and pins in a real browser: every page for axe, and the way from an idea to a saved text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from memories.models import Memory
from memories.own_prompts import text_in_force
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.scenes import lived_in
from tests.support.scenes_prompts import add_prompts, paths
from tests.support.story import make_character, make_chat

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
GOOD = "<memory>\n- [Flux, Alex — adoption day]\n- Alex adopted Flux in Harrow.\n- Zebulon waved.\n</memory>"
LINES = [
    {"text": f"Word{n} happened in Harrow to Alex and Flux.", "raw_date": f"d{n}", "role": "user"} for n in range(4)
]


CHOSEN = "(field => field.value.slice(field.selectionStart, field.selectionEnd))(document.getElementById('pt'))"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.mark.parametrize("size", WIDTHS)
def test_pages_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= add_prompts(alice, scene["character"], scene["chat"])
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths(scene).values()) == []


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_text_is_changed_tried_and_saved(live_server: Any, alice: User, fake: FakeModel, size: str) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    make_chat(make_character(alice), lines=LINES)
    fake.answers(GOOD)
    with signed_in(live_server.url, alice, size) as seen:
        page = seen.open("/settings/prompts/")
        page.get_by_role("link", name="One to one").click()
        field = page.get_by_label("Text of the prompt")
        field.focus()
        page.evaluate("document.getElementById('pt').setSelectionRange(0, 0)")
        page.locator("button[data-insert='{{charName}}']").click()
        page.keyboard.type(": never mention cheese. ")
        expect(field).to_have_value(
            text_in_force(alice, "extraction").text.join(["{{charName}}: never mention cheese. ", ""])
        )
        page.get_by_role("button", name="Try it before saving").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("What would be sent for 4 messages")
        expect(page.locator("[data-section='words']").nth(1)).to_contain_text("Flux: never mention cheese.")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#answer")).to_contain_text("The model is at work")
        run_until_idle(alice)
        expect(page.locator("#answer")).to_contain_text("Alex adopted Flux in Harrow.", timeout=10_000)
        expect(page.locator("#answer")).to_contain_text("“Zebulon” is not in the messages")
        assert seen.violations() == []
        assert "never mention cheese" in fake.prompts()[0]
        assert not Memory.objects.for_user(alice).exists()
        page.go_back()
        page.go_back()
        page.locator("#prompt-form").get_by_role("button", name="Save version 1").click()
        expect(page.get_by_text("Saved as version 1")).to_be_visible()
    assert text_in_force(alice, "extraction").version == "yours 1"


def test_a_problem_leads_to_its_line(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/settings/prompts/extraction/")
        field = page.get_by_label("Text of the prompt")
        field.fill(f"Hello.\n{{{{weather}}}} today\n{text_in_force(alice, 'extraction').text}")
        page.locator("#prompt-form").get_by_role("button", name="Save version 1").click()
        page.get_by_role("link", name="Line 2").click()
        assert page.evaluate(CHOSEN) == "{{weather}} today"
        assert seen.violations() == []
        seen.troubles = [one for one in seen.troubles if "422" not in one]  # the browser names the refusal


def test_a_memory_is_pinned_from_a_message_with_the_keyboard(live_server: Any, alice: User) -> None:
    chat = make_chat(make_character(alice), lines=LINES)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/chats/{chat.pk}/messages/2/pin/")
        expect(page.get_by_label("Memories, one a line")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type("Flux swore an oath.")
        page.keyboard.press("Tab")
        expect(page.get_by_role("checkbox", name="Flux")).to_be_focused()
        page.get_by_role("button", name="Pin", exact=True).press("Enter")
        expect(page.get_by_text("Pinned for Flux.")).to_be_visible()
        page.get_by_role("button", name="Undo").press("Enter")
        expect(page.get_by_text("Taken back.")).to_be_visible()
    assert not Memory.objects.for_user(alice).exists()
