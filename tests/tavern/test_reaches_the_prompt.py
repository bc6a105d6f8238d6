"""The main job, to its end: what was extracted stands in the very next prompt of an open SillyTavern tab."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest

from memories import memory_file, outside_text
from memories.first_steps import steps
from memories.health import reach
from memories.models import MemoryBlock
from sync.models import Character
from tests.support.fake_model import FakeModel
from tests.support.tab import Tab
from tests.support.tavern import RunningTavern
from tests.support.waiting import wait_until
from tests.tavern.conftest import House

pytestmark = [pytest.mark.tavern, pytest.mark.browser]

MARA = "Mara Veldt.png"
QUINN = "Dr. Q O'NeilSmith.png"
ZOLTA = "Żółta Ćma 蛾子.png"
REGISTERED = """(avatar) => SillyTavern.getContext().extensionSettings.character_attachments[avatar]
  .map(entry => [entry.url, entry.name])"""
READ_ONLY = ("chats", "group chats", "characters", "worlds", "groups")


def write(house: House, character: Character, *bullets: str) -> None:
    """Write memories by hand, and bring the Data Bank up to date."""
    with memory_file.change(memory_file.file_for(character), reason="Written") as editor:
        editor.add_block("Pier", bullets, date="2026-03-01 18:00", origin=MemoryBlock.Origin.WRITTEN)
    house.step()


class Silent:
    """A server that accepts and never answers; `calls` counts connections that sent something."""

    def __init__(self) -> None:
        self.calls = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _address = self._socket.accept()
                self._open.append(connection)
                threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        with suppress(OSError):
            while connection.recv(65536):
                self.calls += 1

    def close(self) -> None:
        for one in (self._socket, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def last_prompt(model: FakeModel) -> str:
    """Everything the last chat request to SillyTavern's model held."""
    bodies = [one.body for one in model.requests if one.path.endswith("/chat/completions")]
    return json.dumps(bodies[-1]["messages"], ensure_ascii=False)


def ask(tab: Tab, model: FakeModel, text: str) -> str:
    """Send a message in the tab; the prompt that SillyTavern sent for it."""
    tab.send(text)
    return last_prompt(model)


def test_an_adopted_file_is_current_in_an_open_tab_twenty_times(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    mara = house.character(MARA)
    url = reach(mara).attachment.url
    tab.open()
    tab.select(MARA)
    stale = tab.js("async (url) => (await fetch(url, {cache: 'force-cache'})).text()", url)
    assert "clockwork wren" in stale
    assert "clockwork wren" in ask(tab, tavern_model, "What do you carry?")
    for number in range(20):
        house.wait_for_chat(tab)
        before = tavern.fingerprint(*READ_ONLY)
        house.extract(mara, f"Mara counted lantern number {number}0{number}.")
        assert tavern.fingerprint(*READ_ONLY) == before
        prompt = ask(tab, tavern_model, f"How many lanterns, {number}?")
        assert f"Mara counted lantern number {number}0{number}." in prompt and "clockwork wren" in prompt
    assert tab.js("async (url) => (await fetch(url, {cache: 'force-cache'})).text()", url) == stale
    assert reach(mara).ok
    assert [entry["url"] for entry in tavern.registered(MARA)] == [url]


def test_a_character_that_never_had_a_file_uses_its_first_memory_at_the_next_message(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    house.install_companion()
    quinn = house.character(QUINN)
    assert tavern.registered(QUINN) == []
    tab.open()
    tab.select(QUINN)
    house.wait_for_chat(tab)
    before = tavern.fingerprint(*READ_ONLY)
    house.extract(quinn, "Quinn hid the brass sextant under the stairs.")
    assert tavern.fingerprint(*READ_ONLY) == before
    assert [step.key for step in reach(quinn).missing] == ["registered"]
    assert "brass sextant" in ask(tab, tavern_model, "Where is it?")
    entry = wait_until(lambda: tavern.registered(QUINN))[0]
    assert entry["name"] == reach(quinn).file.name and entry["url"].startswith("/user/files/cm_")
    house.step()
    assert reach(quinn).ok
    for number in range(3):
        house.wait_for_chat(tab)
        house.extract(quinn, f"Quinn sold map {number}1{number}.")
        assert f"Quinn sold map {number}1{number}." in ask(tab, tavern_model, f"Which map, {number}?")
    assert wait_until(lambda: reach(quinn).attachment.seen_in_prompt_at)
    assert all(step.done for step in steps(house.person))


def test_a_new_name_is_put_in_before_an_answer_and_keeps_address_and_index(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    house.install_companion()
    mara = house.character(MARA)
    tab.open()
    tab.select(MARA)
    url = reach(mara).attachment.url
    outside_text.rename(reach(mara).file, "What Mara knows-memories.md")
    house.step()
    embedded = sum(one.path.endswith("/embeddings") for one in tavern_model.requests)

    def is_renamed_by_the_next_answer() -> bool:
        # A busy machine may miss the quarter of a second; the late answer then serves the next message.
        prompt = ask(tab, tavern_model, "What do you carry?")
        return "clockwork wren" in prompt and tab.js(REGISTERED, MARA) == [[url, "What Mara knows-memories.md"]]

    wait_until(is_renamed_by_the_next_answer, seconds=30)
    wait_until(lambda: [entry["name"] for entry in tavern.registered(MARA)] == ["What Mara knows-memories.md"])
    house.step()
    assert reach(mara).ok
    texts = [one.body["input"] for one in tavern_model.requests if one.path.endswith("/embeddings")][embedded:]
    assert not any("clockwork wren" in json.dumps(text) and "<memory" in json.dumps(text) for text in texts)


def test_an_entry_that_another_tab_saved_over_is_put_back(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    house.install_companion()
    mara = house.character(MARA)
    tab.open()
    tab.select(MARA)
    url = reach(mara).attachment.url
    settings = tavern.settings()
    settings["extension_settings"]["character_attachments"][MARA] = []
    (tavern.user_folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    house.step()
    assert [step.key for step in reach(mara).missing] == ["registered"]

    def is_back() -> bool:
        prompt = ask(tab, tavern_model, "What do you carry?")
        return "clockwork wren" in prompt and url in [entry["url"] for entry in tavern.registered(MARA)]

    wait_until(is_back, seconds=30)


def test_without_the_companion_a_pasted_line_is_enough(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    zolta = house.character(ZOLTA)
    tab.open()
    tab.select(ZOLTA)
    for entry in tavern.registered(ZOLTA):
        tab.slash(f"/db-delete source=character {entry['url']}")
    wait_until(lambda: not tavern.registered(ZOLTA))
    house.step()
    write(house, zolta, 'Zolta wrote "left | right" on the {{char}} door.')
    line = reach(zolta).paste_line
    assert line.startswith("/db-add source=character name=")
    tab.page.fill("#send_textarea", line)
    tab.page.keyboard.press("Enter")
    entry = wait_until(lambda: tavern.registered(ZOLTA))[0]

    def arrives() -> bool:
        """A pass may come between the things that SillyTavern writes; the next one is right."""
        house.step()
        return reach(zolta).ok

    wait_until(arrives)
    way = reach(zolta)
    assert way.attachment.url == entry["url"] and way.paste_line == ""
    text = (tavern.user_folder / entry["url"].lstrip("/")).read_text(encoding="utf-8")
    assert text == memory_file.render(way.file)
    assert "left | right" in ask(tab, tavern_model, "What stands on the door?")
    write(house, zolta, "Zolta painted the door blue.")
    assert "painted the door blue" in ask(tab, tavern_model, "And now?")


def test_an_edit_in_sillytavern_itself_comes_back_and_stays_in_the_prompt(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    mara = house.character(MARA)
    house.step()
    way = reach(mara)
    tab.open()
    tab.select(MARA)
    edited = memory_file.render(way.file) + '\n\n<memory chat="Pier" date="">\n- Mara sold the ferry.\n</memory>'
    url = tab.slash(f'/db-update source=character name="{way.attachment.name}" {edited}')
    wait_until(lambda: url in [entry["url"] for entry in tavern.registered(MARA)])
    house.step()
    way = reach(mara)
    assert way.attachment.url == url and way.ok
    assert "Mara sold the ferry." in [memory.text for memory in memory_file.memories_of(way.file)]
    write(house, mara, "Mara bought it back.")
    prompt = ask(tab, tavern_model, "What about the ferry?")
    assert "Mara sold the ferry." in prompt and "Mara bought it back." in prompt


def test_a_charmem_that_hangs_or_is_gone_is_not_felt(
    house: House, tab: Tab, tavern: RunningTavern, tavern_model: FakeModel
) -> None:
    silent = Silent()
    house.address = silent.url
    house.install_companion()
    tab.open()
    tab.select(MARA)
    wait_until(lambda: silent.calls)
    assert "Still there?" in ask(tab, tavern_model, "Still there?")
    asked = silent.calls
    assert "And now?" in ask(tab, tavern_model, "And now?")
    assert silent.calls == asked  # it was slow once and is left in peace for a while
    silent.close()
    assert "Gone?" in ask(tab, tavern_model, "Gone?")
    tab.open()
    tab.select(MARA)
    assert "Refused?" in ask(tab, tavern_model, "Refused?")
