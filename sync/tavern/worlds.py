"""Lorebooks: world info files and the books inside cards (spec/sillytavern §4). Read only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sync.tavern.text import rows, whole, word, words

MOST_ENTRIES = 20_000
LONGEST_TEXT = 1024 * 1024
SMALL = 2**31 - 1


class WorldError(ValueError):
    """These bytes hold no lorebook; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a lorebook."""

    uid: str
    title: str
    keys: list[str]
    secondary_keys: list[str]
    content: str
    is_enabled: bool
    is_constant: bool
    order: int


def read_world(data: bytes) -> list[Entry]:
    """The entries of a world info file."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise WorldError("This lorebook is not written in UTF-8.") from None
    except (ValueError, RecursionError):
        raise WorldError("This lorebook is not valid JSON.") from None
    if not isinstance(value, dict) or "entries" not in value:
        raise WorldError("This file holds no lorebook.")
    return read_book(value)


def read_book(book: dict[str, Any]) -> list[Entry]:
    """The entries of a book in either form: a table by uid (world info) or a list (inside a card)."""
    entries = book.get("entries")
    listed = list(entries.items()) if isinstance(entries, dict) else list(enumerate(rows(entries)))
    return [_entry(str(uid), entry) for uid, entry in listed[:MOST_ENTRIES] if isinstance(entry, dict)]


def _entry(uid: str, entry: dict[str, Any]) -> Entry:
    enabled = entry.get("enabled")
    found = entry.get("uid", entry.get("id"))
    return Entry(
        uid=word(found, 80) or word(uid, 80),
        title=word(entry.get("comment"), 500) or word(entry.get("name"), 500),
        keys=words(entry.get("key", entry.get("keys")), 500),
        secondary_keys=words(entry.get("keysecondary", entry.get("secondary_keys")), 500),
        content=word(entry.get("content"), LONGEST_TEXT),
        is_enabled=bool(enabled) if enabled is not None else not entry.get("disable"),
        is_constant=bool(entry.get("constant")),
        order=whole(entry.get("order", entry.get("insertion_order")), 100, -SMALL, SMALL),
    )
