"""What the CharMemory extension keeps of its own in settings.json and in the headers of chats (spec/charmemory §1, §2).

Read only when a person takes it over, never by a pass; keys only when they ask for them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sync.tavern.settings_file import SettingsError
from sync.tavern.text import plain, table, whole, word

LONGEST_PROMPT = 100_000
LONGEST_INJECTED = 16_000
MOST_INJECTED = 5_000  # messages of one chat
MOST_ROWS = 200  # of one kind for one message
JSONL = ".jsonl"


@dataclass(frozen=True)
class ProviderChoice:
    """How one provider was set up there; `has_key` says that a key lies in settings.json."""

    provider: str
    model: str = ""
    base_url: str = ""
    system_prompt: str = ""
    has_key: bool = False
    is_selected: bool = False


@dataclass(frozen=True)
class ExtensionState:
    """Its settings by their own names where they are plain values, and its maps."""

    values: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)  # extraction, groupExtraction, conversion, consolidation:…
    providers: tuple[ProviderChoice, ...] = ()
    file_names: Mapping[str, str] = field(default_factory=dict)  # by avatar
    batch: Mapping[str, int] = field(default_factory=dict)  # "avatar:chat", once "name:chat" → last index


@dataclass(frozen=True)
class ChatState:
    """What it noted in one chat: the last index that was read (-1: none) and what was injected, by message index."""

    pointer: int = -1
    injected: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.pointer < 0 and not self.injected


def read_state(data: bytes) -> ExtensionState | None:
    """Its part of settings.json; None when the extension was never there. SettingsError when that is no JSON."""
    own = _own(data)
    if not own:
        return None
    simple = {key: value for key, value in own.items() if isinstance(value, bool | int | float | str)}
    secret = {"nanogptApiKey", "extractionPrompt", "groupExtractionPrompt", "conversionPrompt"}
    return ExtensionState(
        values={key: value for key, value in simple.items() if key not in secret and len(str(value)) <= 1000},
        source=word(own.get("source"), 40) or "provider",
        prompts=_prompts(own),
        providers=_providers(own),
        file_names={word(k, 300): word(v, 300) for k, v in table(own.get("characterFileNames")).items() if v},
        batch=_batch(own),
    )


def read_keys(data: bytes) -> dict[str, str]:
    """The keys by provider, for a person who asked for them."""
    providers = table(_own(data).get("providers"))
    keys = {word(name, 40): table(one).get("apiKey") for name, one in providers.items()}
    return {name: key.strip() for name, key in keys.items() if isinstance(key, str) and key.strip()}


def read_chat_state(metadata: Mapping[str, Any]) -> ChatState:
    """Its part of a chat's metadata; broken values count as none."""
    injected = {}
    for key, value in islice(table(metadata.get("injectionData")).items(), MOST_INJECTED):
        if str(key).isdecimal() and len(str(key)) < 9 and isinstance(value, dict):
            injected[int(key)] = _snapshot(value)
    return ChatState(_index(metadata.get("lastExtractedIndex")), injected)


def _own(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise SettingsError("settings.json is not valid JSON.") from None
    own = table(table(value).get("extension_settings")).get("charMemory")
    return table(plain(own))


def _prompts(own: dict[str, Any]) -> dict[str, str]:
    names = {"extractionPrompt": "extraction", "groupExtractionPrompt": "groupExtraction"}
    found = {name: own.get(key) for key, name in {**names, "conversionPrompt": "conversion"}.items()}
    strategies = table(own.get("consolidationPrompts"))
    found |= {f"consolidation:{word(name, 40)}": text for name, text in strategies.items()}
    return {name: text[:LONGEST_PROMPT] for name, text in found.items() if isinstance(text, str) and text.strip()}


def _providers(own: dict[str, Any]) -> tuple[ProviderChoice, ...]:
    selected = word(own.get("selectedProvider"), 40)
    found = []
    for name, value in table(own.get("providers")).items():
        one = table(value)
        key = one.get("apiKey")
        choice = ProviderChoice(
            word(name, 40),
            word(one.get("model"), 200),
            word(one.get("customBaseUrl"), 500),
            word(one.get("systemPrompt"), 4000),
            isinstance(key, str) and bool(key.strip()),
            word(name, 40) == selected,
        )
        if choice.is_selected or choice.has_key or choice.base_url or choice.system_prompt:
            found.append(choice)
    return tuple(sorted(found, key=lambda one: (not one.is_selected, one.provider)))


def _batch(own: dict[str, Any]) -> dict[str, int]:
    found = {}
    for key, value in table(own.get("batchState")).items():
        index = _index(table(value).get("lastExtractedIndex"))
        if index >= 0:
            found[word(key, 900).removesuffix(JSONL)] = index
    return found


@dataclass(frozen=True)
class CardChats:
    """One card: its file, its name, and the names of its chats without .jsonl."""

    avatar: str
    name: str
    chats: frozenset[str] = frozenset()


def batch_points(batch: Mapping[str, int], cards: Collection[CardChats]) -> dict[tuple[str, str], int]:
    """How far its batch had read each chat, by (avatar, chat).

    Keys are "avatar:chat", of older versions "name:chat", and both may hold colons: the longest match wins. A name
    that several cards bear counts for the one card that has such a chat; what stays unclear is left out (§2.4).
    """
    found: dict[tuple[str, str], int] = {}
    older: dict[tuple[str, str], int] = {}
    for key, index in batch.items():
        owner = _longest(key, {card.avatar for card in cards})
        if owner:
            found[owner, key.removeprefix(f"{owner}:")] = index
        else:
            older |= _by_name(key, index, cards)
    return older | found


def _by_name(key: str, index: int, cards: Collection[CardChats]) -> dict[tuple[str, str], int]:
    name = _longest(key, {card.name for card in cards})
    chat = key.removeprefix(f"{name}:")
    bearers = [card for card in cards if name and card.name == name]
    claimants = bearers if len(bearers) == 1 else [card for card in bearers if chat in card.chats]
    return {(claimants[0].avatar, chat): index} if len(claimants) == 1 else {}


def _longest(key: str, owners: Collection[str]) -> str:
    return max((one for one in owners if one and key.startswith(f"{one}:")), key=len, default="")


def _index(value: Any) -> int:
    return whole(value, -1, -1, 100_000_000) if isinstance(value, int) else -1


def _snapshot(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "memories": [{"text": word(table(one).get("text"), 4000)} for one in _rows(value.get("memories"))],
        "lore": [
            {
                "comment": word(table(one).get("comment"), 300),
                "keys": [word(key, 200) for key in _rows(table(one).get("keys"))][:50],
                "content": word(table(one).get("content"), 1000),
            }
            for one in _rows(value.get("worldInfo"))
        ],
        "prompts": [
            {
                "label": word(table(one).get("label"), 200),
                "content": word(table(one).get("content"), LONGEST_INJECTED),
                "position": _number(table(one).get("position")),
                "depth": _number(table(one).get("depth")),
            }
            for one in _rows(value.get("extensionPrompts"))
        ],
        "tokens": _tokens(value.get("tokenData")),
        "at": word(value.get("timestamp"), 60),
    }


def _rows(value: Any) -> list[Any]:
    return value[:MOST_ROWS] if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return whole(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(value: Any) -> dict[str, int]:
    found = ((word(key, 60), _number(count)) for key, count in islice(table(value).items(), MOST_ROWS))
    return {key: count for key, count in found if count is not None}
