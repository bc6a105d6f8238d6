"""A real Chromium on the live pages: signed in, watched for errors, judged by axe."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext, Page, sync_playwright

from accounts.models import User
from tests.support.services import require

AXE = Path("axe-core") / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What the content security policy refuses, also where a browser writes nothing into its console about it.
TELL_REFUSED = """addEventListener("securitypolicyviolation", event =>
    tellRefused(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));"""
# What stays at the window's edge goes to its place on the page.
LET_GO = """for (const one of document.body.querySelectorAll("*"))
  if (["sticky", "fixed"].includes(getComputedStyle(one).position)) one.style.position = "static";"""
WIDTHS = {"desktop": (1440, 900), "tablet": (820, 1180), "phone": (390, 844)}


class Watched:
    """A page with everything that went wrong on it: script errors, refused content, failed requests."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base, self.troubles = page, base, []  # type: ignore[var-annotated]
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("response", self._response)
        page.expose_binding("tellRefused", lambda _source, what: self.troubles.append(f"refused: {what}"))
        page.add_init_script(TELL_REFUSED)

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text}")

    def _response(self, answer: Any) -> None:
        if answer.status >= 500:
            self.troubles.append(f"{answer.status} {answer.url}")

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path, wait_until="load")
        return self.page

    def is_too_wide(self) -> int:
        """By how many pixels the page can be scrolled sideways."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def violations(self, *, only_colours: bool = False) -> list[str]:
        """What axe has against the page: rule and the places. A second theme differs in its colours only."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe_source())
        run = {"type": "rule", "values": ["color-contrast"]} if only_colours else {"type": "tag", "values": RULES}
        options = {"runOnly": run, "resultTypes": ["violations"]}
        found = self.page.evaluate("options => axe.run(document, options)", options)["violations"]
        return [f"{one['id']}: {[node['target'][0] for node in one['nodes']][:4]}" for one in found]

    def judge(self, paths: Iterable[str]) -> list[str]:
        """What is wrong with these pages in either theme: too wide for the window, or something that axe objects to."""
        wrong: list[str] = []
        for path in paths:
            page = self.open(path)
            if wide := self.is_too_wide():
                wrong.append(f"{path} is {wide} px too wide")
            with self.unrolled():
                for theme in ("dark", "light"):
                    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
                    found = self.violations(only_colours=theme == "light")
                    wrong += [f"{path} {theme}: {trouble}" for trouble in found]
        return wrong

    @contextmanager
    def unrolled(self) -> Iterator[None]:
        """A window as high as the page, and what stays at the window's edge put in its place: it then covers nothing,
        which axe would take for targets that are too small; a person scrolls. (The chat reader grows meanwhile.)"""
        size = self.page.viewport_size
        assert size is not None
        height = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": size["width"], "height": max(size["height"], int(height))})
        self.page.evaluate(LET_GO)
        yield
        self.page.set_viewport_size(size)


def axe_source() -> str:
    """The text of axe-core, from beside the tests' SillyTavern or CHARMEM_AXE_DIR."""
    tests = Path(settings.BASE_DIR) / "tests" / "tavern" / "node_modules"
    for folder in (os.environ.get("CHARMEM_AXE_DIR"), tests, Path(require("tavern")).parent):
        if folder and (Path(folder) / AXE).exists():
            return (Path(folder) / AXE).read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed; run npm ci in tests/tavern")


@contextmanager
def signed_in(base: str, person: User, size: str = "desktop") -> Iterator[Watched]:
    """A browser of its own, signed in as `person`."""
    width, height = WIDTHS[size]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=require("browser"), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        _sign_in(context, base, person)
        watched = Watched(context.new_page(), base)
        yield watched
        browser.close()
    assert watched.troubles == []


def _sign_in(context: BrowserContext, base: str, person: User) -> None:
    client = Client()
    client.force_login(person)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": base}])
