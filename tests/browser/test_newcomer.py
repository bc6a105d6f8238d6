"""From no connection to a tested one in a real browser: at most three decisions, whoever is to read the chats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from providers import discover, local_model
from providers.catalogue import LocalPort
from providers.models import Connection
from tests.support.browsing import WIDTHS, signed_in
from tests.support.fake_model import FakeModel
from tests.support.scenes_models import add_tests, paths
from tests.support.services import free_port, require
from tests.support.wire import redirect_preset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST_DECISIONS = 3


class Newcomer:
    """Somebody at the page of Models. What has to be thought about is counted: whom to take, what to type or pick.
    The button that says Save and test asks nothing."""

    def __init__(self, page: Page) -> None:
        self.page, self.decisions = page, 0

    def picks(self, what: str) -> None:
        self.decisions += 1
        self.page.get_by_role("link", name=what, exact=True).click()

    def presses(self, what: str) -> None:
        self.decisions += 1
        self.page.get_by_role("button", name=what, exact=True).click()

    def types(self, field: str, text: str) -> None:
        self.decisions += 1
        self.page.get_by_label(field, exact=True).fill(text)

    def saves(self) -> None:
        self.page.get_by_role("button", name="Save and test").click()

    def sees(self, *words: str) -> None:
        """The test is under way, and its result comes by itself."""
        expect(self.page.locator("#test-part progress")).to_be_visible()
        with unscoped("the worker's part of the story"):
            run_until_idle()
        for text in words:
            expect(self.page.locator("#test")).to_contain_text(text)
        assert self.decisions <= MOST_DECISIONS


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


def ports(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(discover.discover_local, "__defaults__", ((LocalPort("Ollama", port),),))


def begins(page: Page) -> Newcomer:
    """From the empty page of Models."""
    page.get_by_role("link", name="Add a connection").first.click()
    expect(page.get_by_role("heading", name="Who should read your chats?")).to_be_visible()
    return Newcomer(page)


def test_a_server_that_runs_here_is_one_click(
    live_server: Any, alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports(monkeypatch, fake.port)
    with signed_in(live_server.url, alice) as seen:
        newcomer = begins(seen.open("/settings/models/"))
        newcomer.presses("Use Ollama")
        newcomer.sees("Ollama works.", "tokens in", "free")
        assert newcomer.decisions == 1
        expect(newcomer.page.locator("h1")).to_have_text("Ollama works")
        assert seen.violations() == []


def test_a_provider_with_a_key_is_the_kind_and_the_key(
    live_server: Any, alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports(monkeypatch, free_port())
    redirect_preset(monkeypatch, "openrouter", fake.root_url)
    with signed_in(live_server.url, alice) as seen:
        newcomer = begins(seen.open("/settings/models/"))
        newcomer.picks("OpenRouter")
        newcomer.types("Key", "sk-or-v1-0123456789abcdef")
        newcomer.saves()
        newcomer.sees("OpenRouter works.", "accepted")
        assert newcomer.decisions == 2


def test_where_no_model_suits_everybody_choosing_one_is_the_third(
    live_server: Any, alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports(monkeypatch, free_port())
    redirect_preset(monkeypatch, "nanogpt", fake.root_url)
    with signed_in(live_server.url, alice) as seen:
        newcomer = begins(seen.open("/settings/models/"))
        newcomer.picks("NanoGPT")
        newcomer.types("Key", "nano-0123456789abcdef")
        newcomer.saves()
        newcomer.sees("No model is chosen for NanoGPT.")
        newcomer.page.get_by_role("link", name="Choose a model").click()
        newcomer.decisions += 1
        newcomer.page.get_by_role("button", name=re.compile("fake-large")).click()
        newcomer.sees("NanoGPT works.")
        assert newcomer.decisions == 3
        with unscoped("what was connected"):
            assert Connection.objects.get().model == "fake-large"


def test_an_address_that_was_typed_without_v1_is_the_kind_and_the_address(
    live_server: Any, alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports(monkeypatch, free_port())
    with signed_in(live_server.url, alice, "phone") as seen:
        newcomer = begins(seen.open("/settings/models/"))
        newcomer.picks("Local server")
        newcomer.types("Address", fake.root_url)
        newcomer.saves()
        newcomer.sees("Local server works.", "/v1 was missing at the end of the address and was added.")
        expect(newcomer.page.get_by_label("Address", exact=True)).to_have_value(fake.base_url)
        expect(newcomer.page.get_by_label("Model", exact=True)).to_have_value("fake-small")


@pytest.mark.model
def test_the_built_in_model_is_one_decision(
    live_server: Any, alice: User, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    require("model")
    settings.DATA_DIR = tmp_path
    ports(monkeypatch, free_port())
    with signed_in(live_server.url, alice) as seen:
        newcomer = begins(seen.open("/settings/models/"))
        newcomer.picks("Built-in (this computer)")
        newcomer.saves()
        newcomer.sees("Built-in (this computer)", "none needed", "tokens in", "free")
        assert newcomer.decisions == 1
        expect(newcomer.page.locator("#test")).to_have_class(re.compile("is-(ok|warn)"))
    for child in local_model._children:
        child.communicate(timeout=10)  # closes its lifeline
    local_model._children.clear()


@pytest.mark.parametrize("size", WIDTHS)
def test_results_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = add_tests(alice)
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge([*paths(scene).values(), "/settings/models/new/", "/settings/models/new/openrouter/"]) == []
