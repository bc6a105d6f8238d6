"""The main job as people run it: pages, workers and clock as processes, a real SillyTavern, a real tab beside it.

Once on SQLite with `serve`, once with the parts of docker-compose.yml on PostgreSQL and Valkey.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page

from tests.support import compose
from tests.support.fake_model import FakeModel
from tests.support.processes import Running, rows
from tests.support.services import postgres_database, require, valkey_database
from tests.support.tab import Tab
from tests.support.tavern import RunningTavern, start_tavern
from tests.support.waiting import wait_until
from tests.tavern.test_reaches_the_prompt import MARA, QUINN, READ_ONLY, ask

pytestmark = [pytest.mark.tavern, pytest.mark.browser]
PASSWORD = "correct horse battery"


@pytest.fixture
def own_tavern(tmp_path: Path, tavern_model: FakeModel) -> Iterator[RunningTavern]:
    """A SillyTavern that no other test has written to."""
    running = start_tavern(tmp_path, tavern_model.root_url)
    yield running
    running.stop()


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "charmem")
    yield running
    running.end()


def start_serve(house: Running) -> None:
    house.start("serve")
    house.wait_for_page()


def start_parts(house: Running) -> None:
    require("postgres")
    require("valkey")
    house.extra = {"CHARMEM_DATABASE_URL": postgres_database(), "CHARMEM_BROKER_URL": valkey_database()}
    house.start(*compose.command("web"))
    house.wait_for_page()
    for number in range(2):
        house.start(*compose.command("worker"), CHARMEM_WORKER_NAME=f"worker-{number}")
    house.start(*compose.command("beat"))


def link(house: Running, tavern: RunningTavern, reader: FakeModel, password: Path) -> None:
    """What a person types once."""
    password.write_text(f"{PASSWORD}\n")
    for arguments in (
        ["bootstrap", "--admin", "alice", "--password-file", str(password)],
        ["link_sillytavern", "--user", "alice", "--folder", str(tavern.user_folder), "--url", tavern.url],
        ["connect_provider", "--user", "alice", "--preset", "local", "--base-url", reader.base_url,
         "--model", "fake-small", "--default", "--no-test"],
    ):  # fmt: skip
        done = house.command(*arguments)
        assert done.returncode == 0, done.stderr


def install_companion(house: Running, page: Page) -> None:
    """Sign in to CharMem and press Install on the companion's page."""
    address = f"http://127.0.0.1:{house.port}"
    page.goto(f"{address}/login/")
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(lambda url: "/login/" not in url)
    (tavern_id,) = rows(house, "SELECT id FROM sync_tavern")[0]
    page.goto(f"{address}/settings/sillytavern/{UUID(str(tavern_id))}/companion/")
    page.get_by_role("button", name="Install").click()
    page.get_by_text("Installed", exact=True).wait_for()
    page.close()  # a tab in the background sleeps, and the SillyTavern tab is the one that must be awake


def extract(house: Running, reader: FakeModel, avatar: str, fact: str) -> None:
    """Have the workers read what is new for one character, and wait until its file and index are current."""
    reader.answer_with(f"<memory>\n- [{fact[:12]}]\n- {fact}\n</memory>")
    done = house.command("extract", "--user", "alice", "--avatar", avatar, "--json")
    assert done.returncode == 0, done.stderr

    def is_through() -> bool:
        active = "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running', 'paused')"
        written = f"SELECT count(*) FROM sync_attachment WHERE avatar = '{avatar.replace(chr(39), chr(39) * 2)}'"
        written += " AND index_state = 'current'"
        return rows(house, active)[0][0] == 0 and rows(house, written)[0][0] > 0

    try:
        wait_until(is_through, 60, every=0.3)
    except AssertionError as error:
        states = rows(house, "SELECT kind, state, error FROM jobs_job")
        raise AssertionError(f"{states}\n{house.printed()[-3000:]}") from error


def wait_for_messages(house: Running, tab: Tab) -> None:
    """Until the pass of the clock has brought in what the tab shows."""
    count = tab.js("() => SillyTavern.getContext().chat.length")
    name = tab.js("() => SillyTavern.getContext().getCurrentChatId()").replace("'", "''")
    query = f"SELECT count(*) FROM sync_chat WHERE name = '{name}' AND message_count = {count}"
    wait_until(lambda: rows(house, query)[0][0] == 1, 40, every=0.3)


@pytest.mark.parametrize("start", [start_serve, start_parts], ids=["serve", "PostgreSQL and Valkey"])
def test_the_next_prompt_holds_what_the_workers_found(
    start: Callable[[Running], None],
    installation: Running,
    own_tavern: RunningTavern,
    tab: Tab,
    reader: FakeModel,
    tavern_model: FakeModel,
    tmp_path: Path,
) -> None:
    house = installation
    start(house)
    link(house, own_tavern, reader, tmp_path / "password")
    install_companion(house, tab.context.new_page())
    tab.url = own_tavern.url
    tab.open()
    tab.select(MARA)
    assert "clockwork wren" in ask(tab, tavern_model, "What do you carry?")
    for number in range(3):
        wait_for_messages(house, tab)
        before = own_tavern.fingerprint(*READ_ONLY)
        extract(house, reader, MARA, f"Mara counted lantern number {number}0{number}.")
        assert own_tavern.fingerprint(*READ_ONLY) == before
        prompt = ask(tab, tavern_model, f"How many lanterns, {number}?")
        assert f"Mara counted lantern number {number}0{number}." in prompt and "clockwork wren" in prompt
    tab.select(QUINN)
    wait_for_messages(house, tab)
    assert own_tavern.registered(QUINN) == []
    extract(house, reader, QUINN, "Quinn hid the brass sextant under the stairs.")
    assert "brass sextant" in ask(tab, tavern_model, "Where is it?")
    assert wait_until(lambda: own_tavern.registered(QUINN))[0]["url"].startswith("/user/files/cm_")
    status = json.loads(house.command("status", "--user", "alice", "--json").stdout)
    assert set(status["jobs"]) == {"done"}
