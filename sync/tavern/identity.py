"""Which message is which, whatever SillyTavern does to a chat (architecture, message identity)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

from sync.tavern.text import clean


def message_identity(role: str, raw_date: str, occurrence: int) -> str:
    """32 hex digits for the `occurrence`-th (from 0) message of this role and raw date in its chat."""
    return _digest(f"{role}\x1f{raw_date}\x1f{occurrence}".encode())


def content_hash(text: str) -> str:
    """32 hex digits of the text alone: names, flags and dates may change without changing it."""
    try:
        return _digest(text.encode())
    except UnicodeEncodeError:
        return _digest(clean(text).encode())


def bytes_hash(data: bytes) -> str:
    """32 hex digits of raw bytes, for lines that cannot be read."""
    return _digest(data)


def message_identities(keys: Iterable[tuple[str, str]]) -> list[str]:
    """The identities of (role, raw date) pairs in chat order."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for key in keys:
        found.append(message_identity(*key, seen[key]))
        seen[key] += 1
    return found


class IdentityMaker:
    """Gives each message of one chat an identity that no other message of it has, alive or already stored."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: Counter[tuple[str, str]] = Counter()

    def __call__(self, role: str, raw_date: str) -> str:
        key = (role, raw_date)
        while True:
            identity = message_identity(role, raw_date, self._next[key])
            self._next[key] += 1
            if identity not in self._taken:
                self._taken.add(identity)
                return identity


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
