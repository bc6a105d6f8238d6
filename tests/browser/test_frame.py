"""The frame in a real browser: dialogs, keys, polling, and the pages about people in every width and theme."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.support.browsing import WIDTHS, signed_in
from tests.support.builders import make_invitation, make_job, make_sign_in, make_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOK = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

NEXT_TRY = """new Promise(done => document.body.addEventListener(
  "htmx:beforeRequest", event => setTimeout(() => done(event.defaultPrevented)), { once: true }))"""


@pytest.mark.parametrize("size", WIDTHS)
def test_pages_about_people_hold_in_every_width_and_theme(live_server: Any, alice: User, bob: User, size: str) -> None:
    User.objects.filter(pk=bob.pk).update(display_name="Captain Ilse Morgenstern-Okonkwo, second of that name")
    make_world(bob)
    make_invitation(alice, note="Ingrid")
    make_sign_in(alice, address="2001:db8:85a3::8a2e:370:7334")
    wrong: list[str] = []
    with signed_in(live_server.url, alice, size) as seen:
        person = f"/people/{bob.pk}/"
        for path in ("/people/", "/people/invite/", person, f"{person}remove/", "/settings/you/", "/more/"):
            page = seen.open(path)
            if wide := seen.is_too_wide():
                wrong.append(f"{path} is {wide} px too wide")
            for theme in ("dark", "light"):
                page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
                wrong += [f"{path} {theme}: {trouble}" for trouble in seen.violations()]
    assert wrong == []


def test_a_dialog_takes_the_focus_and_gives_it_back(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/people/")
        page.get_by_role("link", name="Invite somebody").click()
        expect(page.get_by_label("For whom")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#modal")).to_be_hidden()
        expect(page.get_by_role("link", name="Invite somebody")).to_be_focused()
        page.keyboard.press("Enter")
        page.get_by_label("For whom").fill("Ingrid")
        page.get_by_role("button", name="Make the link").click()
        expect(page.get_by_label("Send them this link")).to_have_value(re.compile(r"^http.*/join/.{20}"))


def test_the_keys_are_listed_and_lead_there(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/people/")
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_contain_text("Next and previous item")
        expect(page.locator("#keys")).to_contain_text("Jobs")
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("j")
        page.wait_for_url("**/jobs/")


def test_keys_are_letters_while_somebody_types(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/settings/you/")
        page.get_by_label("Your name").fill("")
        page.keyboard.type("g j ? j")
        expect(page.get_by_label("Your name")).to_have_value("g j ? j")
        expect(page.locator("#keys")).to_be_hidden()


def test_a_hidden_tab_asks_nothing_and_asks_once_on_return(live_server: Any, alice: User) -> None:
    make_job(alice, state="running", step=1, total=4)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/people/")
        asked = asked_for(page, "/frame/live/")
        page.evaluate(LOOK, True)
        assert page.evaluate(NEXT_TRY)
        assert asked == []
        with page.expect_response("**/frame/live/"):
            page.evaluate(LOOK, False)


def test_when_the_session_has_ended_the_page_leads_to_the_door(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/people/")
        Session.objects.all().delete()
        page.evaluate(LOOK, False)
        page.wait_for_url("**/login/?next=/people/")
        expect(page.locator(".rail")).to_have_count(0)
        seen.troubles.clear()  # the 401 that led there is in the console


def asked_for(page: Page, path: str) -> list[str]:
    """Fills up with the requests for `path` from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.url.endswith(path) else None)
    return found
