"""The jobs page in a real browser: it moves by itself, leaves buttons alone, and outlives a web server that died."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.services.test_jobs_processes import PREPARE, SETTINGS, python
from tests.support.people import PASSWORD
from tests.support.processes import Running, is_gone, part
from tests.support.services import require
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("services")]
PATIENCE = 30_000  # milliseconds


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "data", extra={"DJANGO_SETTINGS_MODULE": SETTINGS})
    yield running
    running.end()


@pytest.fixture
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require("browser"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


def sign_in(house: Running, page: Page, then: str) -> None:
    page.goto(f"http://127.0.0.1:{house.port}/login/?next={then}")
    page.fill("[name=username]", "alice")
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    page.wait_for_url(f"**{then}")


def test_a_job_moves_on_the_page_while_the_web_dies_and_comes_back(house: Running, page: Page) -> None:
    supervisor = house.start("serve")
    house.wait_for_page()
    python(house, PREPARE, 1, 8, 1.5, 1)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if "Content Security" in message.text else None)
    sign_in(house, page, "/jobs/")
    expect(page.locator("#jobs-live")).to_have_attribute("hx-trigger", "every 1s")
    page.evaluate("document.querySelector('.running button').dataset.mark = 'the same'")
    step = int(page.inner_text(".running .window-n"))

    expect(page.locator(".running .window-n")).to_have_text(str(step + 1), timeout=PATIENCE)
    assert page.get_attribute(".running button", "data-mark") == "the same"
    web = part(supervisor, "web")
    web[0].kill()
    wait_until(lambda: is_gone(web), 15)

    finished = page.locator("section[aria-labelledby=fin] .job-row")
    expect(finished).to_contain_text("Counted to 8.", timeout=PATIENCE)
    expect(page.locator("#jobs-live")).to_have_attribute("hx-trigger", "every 5s")
    assert refused == []
