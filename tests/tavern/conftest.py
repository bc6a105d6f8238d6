"""A real SillyTavern for each parallel worker, a person linked to it, and two models that log what they were asked."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from accounts.models import User
from companion import install as companion
from jobs.drain import run_until_idle
from memories.extraction import start_extraction
from sync.mirror import mirror
from sync.models import Character, Chat, Tavern
from tests.support.builders import make_connection, make_tavern
from tests.support.fake_model import FakeModel
from tests.support.services import require
from tests.support.tab import Tab
from tests.support.tavern import RunningTavern, start_tavern
from tests.support.waiting import wait_until

# Playwright's sync API keeps an event loop in this thread; our own database calls in the same thread are ordinary ones.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember a failure, for the tab to tell what it had printed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def tavern_model() -> Iterator[FakeModel]:
    """What SillyTavern talks to: chat completions and embeddings."""
    with FakeModel() as fake:
        fake.answer_with("The lantern hums softly.")
        yield fake


@pytest.fixture(scope="session")
def tavern(tmp_path_factory: pytest.TempPathFactory, tavern_model: FakeModel) -> Iterator[RunningTavern]:
    running = start_tavern(tmp_path_factory.mktemp("tavern"), tavern_model.root_url)
    yield running
    running.stop()


@pytest.fixture
def tab(request: pytest.FixtureRequest, tavern: RunningTavern, tmp_path: Path) -> Iterator[Tab]:
    require("browser")
    with sync_playwright() as playwright:
        made = Tab(playwright, tavern.url, tmp_path / "profile")
        yield made
        if request.node.stash.get(FAILED, False):
            print("The tab said:", *made.console[-200:], sep="\n")
        made.close()


@pytest.fixture
def reader() -> Iterator[FakeModel]:
    """What CharMem talks to: the model that extracts."""
    with FakeModel() as fake:
        yield fake


class House:
    """CharMem linked to the running SillyTavern, with its pages served by `live_server`."""

    def __init__(self, person: User, tavern: RunningTavern, address: str, reader: FakeModel) -> None:
        self.person = person
        self.address = address
        self.reader = reader
        make_connection(person, preset="local", base_url=reader.base_url, model="fake-small")
        self.row: Tavern = make_tavern(person, folder=str(tavern.user_folder), url=tavern.url)
        self.step()

    def step(self) -> None:
        """One pass of the mirror and everything that it queued."""
        mirror(self.row)
        run_until_idle(self.person, timeout=60)
        self.row.refresh_from_db()

    def character(self, avatar: str) -> Character:
        return Character.objects.for_user(self.person).get(avatar=avatar)

    def wait_for_chat(self, tab: Tab) -> None:
        """Until the mirror has all messages that the tab shows."""
        name = tab.js("() => SillyTavern.getContext().getCurrentChatId()")
        count = tab.js("() => SillyTavern.getContext().chat.length")
        rows = Chat.objects.for_user(self.person).filter(name=name, message_count=count)

        def has_all() -> bool:
            mirror(self.row)
            return bool(rows.exists())

        wait_until(has_all)

    def extract(self, character: Character, fact: str) -> None:
        """Read what is new in the character's chats with a model that finds `fact` in them, and write it back."""
        self.reader.answer_with(f"<memory>\n- [{character.name} — {fact[:20]}]\n- {fact}\n</memory>")
        start_extraction(self.person, character=character)
        self.step()

    def install_companion(self) -> None:
        companion.install(self.row, f"{self.address}/companion/api/{self.row.pk}/", replace=True)


@pytest.fixture
def house(alice: User, tavern: RunningTavern, live_server: Any, transactional_db: Any, reader: FakeModel) -> House:
    return House(alice, tavern, live_server.url, reader)
