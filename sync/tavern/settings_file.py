"""The few named keys of settings.json that are kept (architecture, rule 4). Nothing else of it is looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sync.tavern.text import plain, rows, table, whole, word, words

SECRET_WORDS = ("key", "password", "token", "secret", "auth")
MOST = 20_000


class SettingsError(ValueError):
    """These bytes hold no settings; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class AttachmentEntry:
    """A Data Bank file as SillyTavern registers it. `size` in bytes, `created_ms` since 1970."""

    url: str
    name: str
    size: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class TavernSettings:
    """What CharMem needs to know. `character_attachments` by avatar; `personas` avatar → name."""

    version: str
    persona_name: str
    personas: dict[str, str]
    vectors: dict[str, Any]
    attachments: list[AttachmentEntry]
    character_attachments: dict[str, list[AttachmentEntry]]
    disabled_attachments: list[str]
    disabled_extensions: list[str]
    global_lorebooks: list[str]
    character_lorebooks: dict[str, list[str]]
    server_urls: dict[str, str]
    charmemory: dict[str, Any]


def read_settings(data: bytes) -> TavernSettings:
    """The named keys of a settings file."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SettingsError("settings.json is not written in UTF-8.") from None
    except (ValueError, RecursionError):
        raise SettingsError("settings.json is not valid JSON.") from None
    if not isinstance(value, dict):
        raise SettingsError("settings.json does not hold settings.")
    extensions = table(value.get("extension_settings"))
    worlds = table(table(value.get("world_info_settings")).get("world_info"))
    urls = table(table(value.get("textgenerationwebui_settings")).get("server_urls"))
    by_avatar = table(extensions.get("character_attachments"))
    return TavernSettings(
        version=word(value.get("currentVersion"), 40),
        persona_name=word(value.get("username"), 200),
        personas=_names(table(value.get("power_user")).get("personas")),
        vectors=_without_secrets(table(extensions.get("vectors"))),
        attachments=read_attachments(extensions.get("attachments")),
        character_attachments={word(key, 300): read_attachments(item) for key, item in by_avatar.items()},
        disabled_attachments=words(rows(extensions.get("disabled_attachments")), 500),
        disabled_extensions=words(rows(extensions.get("disabledExtensions")), 300),
        global_lorebooks=words(rows(worlds.get("globalSelect")), 300),
        character_lorebooks=_extra_books(worlds.get("charLore")),
        server_urls={word(key, 80): word(url, 500) for key, url in urls.items() if isinstance(url, str)},
        charmemory=_charmemory(extensions.get("charMemory")),
    )


def _charmemory(value: Any) -> dict[str, Any]:
    """Whether that extension reads chats by itself, and how often; {} when it was never there (spec/charmemory §1)."""
    if not isinstance(value, dict):
        return {}
    interval = value.get("interval")
    is_number = isinstance(interval, int) and not isinstance(interval, bool) and 0 < interval < 1_000_000
    return {"enabled": value.get("enabled") is not False, "interval": interval if is_number else 20}


def read_attachments(value: Any) -> list[AttachmentEntry]:
    """The entries of one attachment list, each URL once; entries without a URL are passed over."""
    found: dict[str, AttachmentEntry] = {}
    for item in rows(value)[:MOST]:
        entry = table(item)
        url = word(entry.get("url"), 500)
        if url:
            found[url] = AttachmentEntry(
                url, word(entry.get("name"), 500), whole(entry.get("size"), 0, 0), whole(entry.get("created"), 0, 0)
            )
    return list(found.values())


def _names(value: Any) -> dict[str, str]:
    return {word(avatar, 300): word(name, 200) for avatar, name in table(value).items()}


def _extra_books(value: Any) -> dict[str, list[str]]:
    found = {}
    for item in rows(value)[:MOST]:
        entry = table(item)
        books = words(rows(entry.get("extraBooks")), 300)
        if books:
            found[word(entry.get("name"), 300)] = books
    return found


def _without_secrets(vectors: dict[str, Any]) -> dict[str, Any]:
    """Vector Storage keeps no keys among its settings; should it ever, they stay out."""
    kept = {key: item for key, item in vectors.items() if not any(part in key.lower() for part in SECRET_WORDS)}
    return table(plain(kept, 4))
