"""The main job, to its end: what was extracted stands in the very next prompt of an open SillyTavern tab."""

from __future__ import annotations

import json

import pytest

from memories import memory_file
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
READ_ONLY = ("chats", "group chats", "characters", "worlds", "groups")


def remember(house: House, character: Character, *bullets: str) -> None:
    file = memory_file.file_for(character)
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("Pier", bullets, date="2026-03-01 18:00", origin=MemoryBlock.Origin.EXTRACTED)
    house.step()


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
        before = tavern.fingerprint(*READ_ONLY)
        remember(house, mara, f"Mara counted lantern number {number}0{number}.")
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
    before = tavern.fingerprint("characters", "worlds", "groups")
    remember(house, quinn, "Quinn hid the brass sextant under the stairs.")
    assert [step.key for step in reach(quinn).missing] == ["registered"]
    assert "brass sextant" in ask(tab, tavern_model, "Where is it?")
    entry = wait_until(lambda: tavern.registered(QUINN))[0]
    assert entry["name"] == reach(quinn).file.name and entry["url"].startswith("/user/files/cm_")
    house.step()
    assert reach(quinn).ok
    for number in range(3):
        remember(house, quinn, f"Quinn sold map {number}1{number}.")
        assert f"Quinn sold map {number}1{number}." in ask(tab, tavern_model, f"Which map, {number}?")
    assert wait_until(lambda: reach(quinn).attachment.seen_in_prompt_at)
    assert tavern.fingerprint("characters", "worlds", "groups") == before
