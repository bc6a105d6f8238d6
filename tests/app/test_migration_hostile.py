"""State of the CharMemory extension that somebody broke or forged: it is shown, and what is taken over is sane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import User
from memories import migration
from memories.choices import LIMITS
from memories.chosen import settings_of
from memories.migration_apply import take_over
from memories.models import Snapshot
from sync.tavern.charmemory import read_chat_state, read_keys, read_state
from sync.tavern.settings_file import SettingsError
from tests.support.pages import soup
from tests.support.st_folder import MARA, StFolder

HALF = "\ud800 half, \x00 nothing"
HOSTILE: dict[str, Any] = {
    "enabled": "yes",
    "interval": 10**30,
    "extractionLag": float("inf"),
    "minCooldownMinutes": float("nan"),
    "maxMessagesPerExtraction": -5,
    "responseLength": 1e300,
    "protectRecentMessagesCount": True,
    "perChat": True,
    "fileName": f"../../{HALF}<script>.md",
    "source": HALF,
    "selectedProvider": HALF,
    "providers": {HALF: {"apiKey": f"sk-{HALF}", "model": HALF, "customBaseUrl": f"http://{HALF}"}, "groq": ["x"]},
    "extractionPrompt": f"<script>alert(1)</script>{HALF} {{{{recentMessages}}}}",
    "conversionPrompt": "x" * 300_000,
    "consolidationPrompts": {"balanced": HALF, HALF: HALF},
    "characterFileNames": {"Mara Veldt.png": f"../{HALF}.md", HALF: HALF, "": {"deep": [[[[]]]]}},
    "batchState": {f"{HALF}:{HALF}": {"lastExtractedIndex": 10**40}, "a:b": {"lastExtractedIndex": -9}, "c": 7},
}
SNAPSHOTS = {
    "1": {
        "memories": [{"text": HALF}, 7, None],
        "worldInfo": [{"keys": [HALF, {}], "content": HALF * 1000}] * 500,
        "extensionPrompts": [{"label": HALF, "position": 10**30, "depth": 1.5}],
        "tokenData": {HALF: 10**30, "x" * 90: 1, "b": True},
        "timestamp": HALF,
    },
    **{str(number): {"memories": "no list"} for number in range(100, 20_000)},
    "²": {},
    "-1": {},
}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=12,
)
NAMES = ["providers", "batchState", "consolidationPrompts", "characterFileNames", "source", "interval"]


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    path = folder.root / "settings.json"
    value = json.loads(path.read_text("utf-8"))
    value["extension_settings"]["charMemory"] = HOSTILE
    path.write_text(json.dumps(value), "utf-8")  # half characters as escapes, as JavaScript writes them
    lines = folder.lines()
    lines[0]["chat_metadata"]["charMemory"] = {"lastExtractedIndex": 10**30, "injectionData": SNAPSHOTS}
    (folder.root / MARA).write_text("\n".join(map(json.dumps, lines)), "utf-8")
    folder.look()
    folder.tavern.refresh_from_db()
    return folder


def test_the_page_shows_it_and_everything_may_be_ticked(alice_client: Client, folder: StFolder) -> None:
    url = f"/settings/charmemory/{folder.tavern.pk}/"
    page = soup(alice_client.get(url))
    assert not page.select("main script")
    ticks = [str(tick["value"]) for tick in page.select('input[name="take"]')]
    assert len(ticks) > 4
    assert alice_client.post(url, {"take": [*ticks, "keys", "snapshots", "scope"]}).status_code == 200


def test_what_is_taken_over_lies_within_the_limits(alice: User, folder: StFolder) -> None:
    offer = migration.offer(alice, folder.tavern)
    take_over(alice, offer, {*(f"setting:{one.name}" for one in offer.choices), "snapshots"})
    row = settings_of(alice)
    assert all(low <= getattr(row, name) <= high for name, (low, high) in LIMITS.items())
    assert (row.interval, row.lag, row.messages_per_call, row.cooldown_minutes, row.newest) == (100, 0, 10, 10, 4)
    (kept,) = Snapshot.objects.for_user(alice)
    said = json.dumps(kept.data, ensure_ascii=False)
    assert said.encode().count(b"\\u0000") == 0
    assert (len(kept.data["lore"]), kept.data["prompts"][0]["depth"]) == (200, None)


@settings(deadline=None)
@given(st.one_of(JSON, st.dictionaries(st.sampled_from(NAMES), JSON)))
def test_no_state_breaks_its_reader(value: Any) -> None:
    data = json.dumps({"extension_settings": {"charMemory": value}}).encode()
    state = read_state(data)
    read_keys(data)
    if state is not None:
        json.dumps([dict(state.values), dict(state.prompts), dict(state.batch)], ensure_ascii=False).encode()
    chat = read_chat_state({"injectionData": {"1": value}, "lastExtractedIndex": value})
    json.dumps({str(key): one for key, one in chat.injected.items()}, ensure_ascii=False).encode()


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b'{"extension_settings": ' * 50_000, b"1" * 5_000])
def test_what_is_no_settings_file_is_said(data: bytes) -> None:
    with pytest.raises(SettingsError):
        read_state(data)
