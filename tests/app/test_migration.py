"""Taking over from the CharMemory extension: shown first, then part by part, nothing read twice, no key unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories import migration
from memories.chosen import choices_for, settings_of
from memories.memory_file import file_for, memories_of
from memories.migration_apply import take_over
from memories.models import MemoryScope, PromptOverride, Snapshot, Watermark
from memories.queries import reading_of
from providers import vault
from providers.models import Connection
from sync.models import Character
from tests.support.pages import soup, words
from tests.support.st_folder import MARA, StFolder

CANARY = "sk-canary-7f3a1c"
Q_CARD = "Dr. Q O'NeilSmith.png"
Q_CHAT = "chats/Dr. Q O'NeilSmith/Dr. Q O'NeilSmith - 2025-06-17@10h00m00s000ms.jsonl"
OWN = {
    "enabled": True,
    "interval": 30,
    "extractionLag": 3,
    "minCooldownMinutes": 0,
    "maxMessagesPerExtraction": 45.0,
    "responseLength": "many",
    "perChat": False,
    "verboseLogging": True,
    "source": "webllm",
    "selectedProvider": "openrouter",
    "providers": {
        "openrouter": {"apiKey": CANARY, "model": "z-ai/glm-4.7", "systemPrompt": "", "customBaseUrl": ""},
        "groq": {"apiKey": "", "model": "llama", "customBaseUrl": ""},
        "deepseek": {"apiKey": "sk-two", "model": "deepseek-chat", "customBaseUrl": ""},
    },
    "extractionPrompt": "Read this about {{charName}}.\n{{recentMessages}}",
    "conversionPrompt": "Sort this: {{sourceText}}",
    "consolidationPrompts": {"balanced": "Merge gently."},
    "characterFileNames": {"Dr. Q O'NeilSmith.png": "q-diary.md"},
    "batchState": {"Mara Veldt.png:Mara Veldt - 2025-06-15@15h06m40s000ms": {"lastExtractedIndex": 2}},
}


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    folder.settings(lambda value: value["extension_settings"].update(charMemory=OWN))
    folder.change(with_pointer(4))
    folder.look()
    return folder


def with_pointer(index: int, **more: Any) -> Any:
    def change(lines: list[dict[str, Any]]) -> None:
        lines[0]["chat_metadata"]["charMemory"] = {"lastExtractedIndex": index, "messagesSinceExtraction": 1, **more}

    return change


def offered(user: User, folder: StFolder) -> migration.Offer:
    folder.tavern.refresh_from_db()
    return migration.offer(user, folder.tavern)


def mara(folder: StFolder) -> Character:
    return folder.tavern.characters.get(name="Mara Veldt")


def test_everything_is_shown_and_nothing_is_changed(alice: User, folder: StFolder) -> None:
    before = (folder.root / "settings.json").read_bytes()
    found = offered(alice, folder)
    assert {one.name: one.theirs for one in found.choices} == {
        "interval": 30,
        "lag": 3,
        "cooldown_minutes": 0,
        "messages_per_call": 45,
        "is_verbose": True,
    }, "a length that is no number is left out"
    assert [(one.name, one.is_certain) for one in found.prompts] == [
        ("extraction", False),
        ("conversion", True),
        ("consolidation_balanced", True),
    ]
    assert [(one.provider, one.has_key, one.is_selected) for one in found.providers] == [
        ("openrouter", True, True),
        ("deepseek", True, False),
    ]
    assert found.is_reading_by_itself
    assert settings_of(alice).interval == 20 and not Watermark.objects.for_user(alice).exists()
    assert (folder.root / "settings.json").read_bytes() == before


def test_points_count_as_read_and_never_go_back(alice: User, folder: StFolder) -> None:
    found = offered(alice, folder)
    point = next(one for one in found.points if one.chat.path == MARA)
    assert point.index == 4 and not point.is_doubtful
    take_over(alice, found, {point.key})
    chat = folder.chat()
    left = reading_of(alice, chat, mara(folder))
    assert [left.indices[one] for one in left.fresh] == list(range(5, chat.message_count))
    again = next(one for one in offered(alice, folder).points if one.chat.path == MARA)
    assert again.is_behind
    folder.change(with_pointer(1))
    folder.look()
    found = offered(alice, folder)
    take_over(alice, found, {one.key for one in found.points})
    after = reading_of(alice, folder.chat(), mara(folder))
    assert after.fresh == left.fresh


def test_a_point_without_any_memory_is_doubtful(alice: User, folder: StFolder) -> None:
    folder.change(with_pointer(1), Q_CHAT)
    folder.look()
    point = next(one for one in offered(alice, folder).points if one.chat.path == Q_CHAT)
    assert point.is_doubtful, "taken over, these messages would never be read"


def test_a_pointer_behind_the_end_stops_at_the_end(alice: User, folder: StFolder) -> None:
    folder.change(with_pointer(9_000))
    folder.look()
    point = next(one for one in offered(alice, folder).points if one.chat.path == MARA)
    assert point.index == folder.chat().message_count - 1


def test_the_batch_counts_where_the_chat_says_less(alice: User, folder: StFolder) -> None:
    folder.change(with_pointer(-1))
    folder.look()
    point = next(one for one in offered(alice, folder).points if one.chat.path == MARA)
    assert point.index == 2


def test_a_batch_of_an_older_version_is_known_by_the_characters_name(alice: User, folder: StFolder) -> None:
    def put(value: dict[str, Any]) -> None:
        key = "Mara Veldt:Mara Veldt - 2025-06-15@15h06m40s000ms"
        value["extension_settings"]["charMemory"]["batchState"] = {key: {"lastExtractedIndex": 3}}

    folder.settings(put)
    folder.change(with_pointer(-1))
    folder.look()
    point = next(one for one in offered(alice, folder).points if one.chat.path == MARA)
    assert point.index == 3


def test_settings_prompts_and_scope(alice: User, folder: StFolder) -> None:
    folder.settings(lambda value: value["extension_settings"]["charMemory"].update(perChat=True))
    folder.look()
    wanted = {"setting:interval", "setting:messages_per_call", "prompt:conversion", "scope"}
    taken = take_over(alice, offered(alice, folder), wanted)
    assert not taken.problems
    assert choices_for(alice).interval == 30 and choices_for(alice).lag == 0, "only what was ticked"
    assert PromptOverride.objects.for_user(alice).get().name == "conversion"
    scopes = MemoryScope.objects.for_user(alice).values_list("scope", flat=True)
    assert set(scopes) == {"chat"} and len(scopes) == folder.tavern.characters.count()


def test_keys_come_only_when_asked_for(alice: User, folder: StFolder) -> None:
    take_over(alice, offered(alice, folder), {"provider:openrouter"})
    without = Connection.objects.for_user(alice).get()
    assert (without.preset, without.model, without.key_sealed) == ("openrouter", "z-ai/glm-4.7", "")
    without.delete()
    take_over(alice, offered(alice, folder), {"provider:openrouter", "keys"})
    row = Connection.objects.for_user(alice).get()
    assert CANARY not in row.key_sealed
    assert vault.unseal(row.key_sealed, owner_id=alice.pk, row_id=row.pk) == CANARY
    take_over(alice, offered(alice, folder), {"provider:openrouter", "keys"})
    assert Connection.objects.for_user(alice).count() == 1, "taken over once"


def test_a_provider_becomes_the_connection_of_its_own_kind(alice: User, folder: StFolder) -> None:
    take_over(alice, offered(alice, folder), {"provider:deepseek", "keys"})
    row = Connection.objects.for_user(alice).get()
    assert (row.preset, row.base_url, row.model) == ("deepseek", "https://api.deepseek.com", "deepseek-chat")
    assert row.key_hint


def test_a_file_with_a_name_of_its_own_is_adopted_with_its_text(alice: User, folder: StFolder) -> None:
    text = '<memory chat="night" date="2026-01-01 10:00">\n- Mara swore an oath.\n</memory>'
    (folder.root / "user" / "files" / "1_diary.txt").write_text(text, "utf-8")

    def put(value: dict[str, Any]) -> None:
        entry = {"url": "/user/files/1_diary.txt", "name": "q-diary.md", "size": len(text), "created": 1}
        value["extension_settings"]["character_attachments"][Q_CARD] = [entry]

    folder.settings(put)
    folder.look()
    character = folder.tavern.characters.get(avatar=Q_CARD)
    found = offered(alice, folder)
    assert found.names[0].attachment is not None
    taken = take_over(alice, found, {f"name:{character.pk}"})
    assert not taken.problems
    file = file_for(character)
    assert file.name == "q-diary.md" and [one.text for one in memories_of(file)] == ["Mara swore an oath."]
    assert (folder.root / "user" / "files" / "1_diary.txt").read_text("utf-8") == text


def test_what_was_injected_is_kept_by_message(alice: User, folder: StFolder) -> None:
    record = {
        "memories": [{"text": "Mara swore an oath."}, "broken"],
        "worldInfo": [{"comment": "Oath", "keys": ["oath"], "content": "Oaths bind."}],
        "extensionPrompts": [{"label": "4_vectors_data_bank", "content": "…", "position": 0, "depth": 4}],
        "tokenData": {"charMemoryChars": 12},
        "timestamp": "4:09:36 PM",
    }
    folder.change(with_pointer(4, injectionData={"1": record, "77": record, "x": record, "2": 5}))
    folder.look()
    found = offered(alice, folder)
    assert found.snapshots == 2
    take_over(alice, found, {"snapshots"})
    take_over(alice, found, {"snapshots"})
    row = Snapshot.objects.for_user(alice).get()
    message = folder.chat().messages.get(index=1)
    assert (row.identity, row.source, row.data["lore"][0]["keys"]) == (message.identity, "charmemory", ["oath"])


def test_marked_and_hidden_messages_are_counted_and_stay(alice: User, folder: StFolder) -> None:
    def hide(lines: list[dict[str, Any]]) -> None:
        for line in lines[1:4]:
            line.setdefault("extra", {})["charMemory_extracted"] = True
        lines[1]["is_system"] = True

    folder.change(hide)
    before = (folder.root / MARA).read_bytes()
    folder.look()
    found = offered(alice, folder)
    assert (found.tagged, found.hidden) == (3, 1)
    assert (folder.root / MARA).read_bytes() == before


@pytest.mark.parametrize(
    "own", [None, [], "text", {"providers": [1], "batchState": 5, "interval": "x"}, {"enabled": 0}]
)
def test_broken_state_is_no_reason_to_fail(alice: User, folder: StFolder, own: Any) -> None:
    folder.settings(lambda value: value["extension_settings"].update(charMemory=own))
    folder.change(lambda lines: lines[0]["chat_metadata"].update(charMemory=own))
    folder.look()
    found = offered(alice, folder)
    assert not found.points and not found.providers


def test_settings_that_are_no_json_are_said_on_the_page(alice_client: Client, folder: StFolder) -> None:
    (folder.root / "settings.json").write_text("{half", "utf-8")
    answer = alice_client.get(f"/settings/charmemory/{folder.tavern.pk}/")
    assert answer.status_code == 409
    assert "settings.json is not valid JSON. Nothing was changed." in words(soup(answer, 409))


def test_the_page_shows_no_key_and_takes_over_what_is_ticked(alice_client: Client, folder: StFolder) -> None:
    address = f"/settings/charmemory/{folder.tavern.pk}/"
    page = alice_client.get(address)
    assert CANARY not in page.content.decode()
    assert "still reads chats by itself" in words(soup(page)) and "A server cannot" in words(soup(page))
    done = alice_client.post(address, {"take": ["setting:interval", "nonsense"]})
    assert "1 setting." in words(soup(done))
    assert choices_for(folder.tavern.owner).interval == 30


def test_the_settings_of_extraction_lead_there(alice_client: Client, folder: StFolder) -> None:
    link = soup(alice_client.get("/settings/extraction/")).select_one('a[href="/settings/charmemory/"]')
    assert words(link) == "Take over from CharMemory"
    assert alice_client.get("/settings/charmemory/").headers["Location"].endswith(f"/{folder.tavern.pk}/")


def test_home_warns_while_both_read(alice_client: Client, folder: StFolder) -> None:
    assert "messages are paid for twice" in words(soup(alice_client.get("/")))
    folder.settings(
        lambda value: value["extension_settings"].update(
            disabledExtensions=["third-party/SillyTavern-Character-Memory"]
        )
    )
    folder.look()
    assert "messages are paid for twice" not in words(soup(alice_client.get("/")))


def test_no_key_is_read_by_a_pass(alice: User, folder: StFolder) -> None:
    folder.tavern.refresh_from_db()
    kept = json.dumps([folder.tavern.charmemory, folder.tavern.vectors, folder.tavern.server_urls])
    assert folder.tavern.charmemory == {"enabled": True, "interval": 30} and CANARY not in kept


def test_a_model_inside_the_browser_is_replaced_by_the_built_in_one(
    alice_client: Client, folder: StFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.local_model.is_available", lambda: True)
    panel = soup(alice_client.get(f"/settings/charmemory/{folder.tavern.pk}/")).select_one(
        "section[aria-labelledby=pv]"
    )
    assert "It used WebLLM, a model inside the browser. A server cannot. Built-in (this computer) takes" in words(panel)
    assert panel.select_one("a")["href"] == "/settings/models/new/builtin/"
    monkeypatch.setattr("providers.local_model.is_available", lambda: False)
    panel = soup(alice_client.get(f"/settings/charmemory/{folder.tavern.pk}/")).select_one(
        "section[aria-labelledby=pv]"
    )
    assert "is not installed here" in words(panel) and panel.select_one("a") is None
