"""A SillyTavern tab in a real Chromium, driven as a person drives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright, TimeoutError

from tests.support.services import require

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
READY = """() => globalThis.SillyTavern && !document.getElementById('preloader')
  && SillyTavern.getContext().characters.length > 0
  && SillyTavern.getContext().onlineStatus !== 'no_connection'"""
SELECT = """async (avatar) => { const c = SillyTavern.getContext();
  await c.selectCharacterById(c.characters.findIndex(x => x.avatar === avatar)); }"""
SELECTED = """(avatar) => { const c = SillyTavern.getContext();
  return c.characters[c.characterId]?.avatar === avatar && c.chat.length > 0; }"""
STATE = """() => ({messages: SillyTavern.getContext().chat.length, sending: document.body.dataset.generating,
  typed: document.getElementById('send_textarea').value, online: SillyTavern.getContext().onlineStatus,
  shown: document.visibilityState, popups: [...document.querySelectorAll('dialog[open]')].map(d => d.innerText)})"""
ANSWERED = """(n) => SillyTavern.getContext().chat.length >= n + 2 && !document.body.dataset.generating"""


class Tab:
    """One browser profile with one tab; the profile keeps its HTTP cache as a real one does."""

    def __init__(self, playwright: Playwright, url: str, profile: Path) -> None:
        self.url = url
        self.console: list[str] = []
        self.context = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=require("browser"), headless=True, args=ARGUMENTS
        )
        self.page = self.context.pages[0] if self.context.pages else self.context.new_page()
        self.page.on("console", lambda message: self.console.append(f"[{message.type}] {message.text}"))
        self.page.on("pageerror", lambda error: self.console.append(f"[error] {error}"))
        self.page.on("requestfailed", lambda one: self.console.append(f"[failed] {one.method} {one.url} {one.failure}"))

    def open(self) -> None:
        self.page.goto(f"{self.url}/", wait_until="domcontentloaded", timeout=120_000)
        self.page.wait_for_function(READY, timeout=120_000)

    def js(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)

    def select(self, avatar: str) -> None:
        """Open the current chat of a character; the question about an embedded lorebook is closed."""
        self.js(SELECT, avatar)
        self.page.wait_for_function(SELECTED, arg=avatar, timeout=20_000)
        self.page.keyboard.press("Escape")

    def slash(self, command: str) -> Any:
        """Run a slash command; the text it gives back."""
        run = "async (c) => (await SillyTavern.getContext().executeSlashCommandsWithOptions(c))?.pipe ?? null"
        return self.js(run, command)

    def send(self, text: str, timeout: float = 60) -> None:
        """Type a message, press send and wait for the reply."""
        before = self.js("() => SillyTavern.getContext().chat.length")
        self.page.fill("#send_textarea", text)
        self.page.click("#send_but")
        try:
            self.page.wait_for_function(ANSWERED, arg=before, timeout=timeout * 1000)
        except TimeoutError as error:
            raise AssertionError(f"No answer after {timeout} s: {self.js(STATE)}\n{self.console[-30:]}") from error

    def close(self) -> None:
        self.context.close()
