"""What can be searched. Apps register theirs in `ready()`; the index asks them what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Container:
    """Rows that change together: a chat, a memory file, a book.

    `key` (40 letters at most) is unique within its kind. `version` (100 letters at most) differs whenever a row inside
    may differ. `at` is when something last happened in it: older containers are indexed first.
    """

    key: str
    owner: UUID
    version: str
    character: UUID | None = None
    chat: UUID | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Row:
    """One searchable row: its key within the container (40 letters at most), its text, when it happened, and the chat
    it belongs to, where that is another one than the container's."""

    key: str
    text: str
    at: datetime | None = None
    chat: UUID | None = None


@dataclass(frozen=True)
class SearchKind:
    """One kind of rows. All calls run inside `unscoped()` and concern everybody's rows.

    `name`: small Latin letters. `containers` must be cheap: it is asked every ten seconds.
    `marks(container key)` gives (row key, mark) of every row in story order; a row whose mark (any text) is another
    than before is read again by `rows(container key, row keys)`, at most 500 at a time.
    """

    name: str
    title: Any
    containers: Callable[[], Iterable[Container]]
    marks: Callable[[str], Iterable[tuple[str, str]]]
    rows: Callable[[str, Sequence[str]], Iterable[Row]]


kinds: dict[str, SearchKind] = {}


def register(kind: SearchKind) -> None:
    """Make a kind of rows searchable."""
    kinds[kind.name] = kind
