"""Sorting and filtering of the grid of characters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memories.page_queries import Tile

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Choice:
    """One entry of a sort or filter list."""

    key: str
    label: str | Promise
    count: int = 0
    is_current: bool = False


SORTS: dict[str, tuple[str | Promise, Callable[[Tile], object], bool]] = {
    "": (_("Last memory"), lambda tile: (tile.last_memory_at or _LONG_AGO, tile.last_chat_at or _LONG_AGO), True),
    "chat": (_("Last chat"), lambda tile: tile.last_chat_at or _LONG_AGO, True),
    "name": (_("Name"), lambda tile: tile.character.name.casefold(), False),
    "memories": (_("Most memories"), lambda tile: tile.memories, True),
    "unread": (_("Most unread"), lambda tile: tile.unread.messages, True),
}


def _chatted_this_week(tile: Tile) -> bool:
    return bool(tile.last_chat_at and tile.last_chat_at > timezone.now() - timedelta(days=7))


FILTERS: dict[str, tuple[str | Promise, Callable[[Tile], bool]]] = {
    "": (_("All"), lambda tile: True),
    "attention": (_("Needs attention"), lambda tile: tile.needs_attention),
    "unread": (_("Unextracted"), lambda tile: tile.unread.messages > 0),
    "recent": (_("Chatted this week"), _chatted_this_week),
    "review": (_("To review"), lambda tile: tile.review.total > 0),
    "none": (_("No memories yet"), lambda tile: not tile.memories),
}


def arrange(tiles: list[Tile], sort: str, show: str, text: str = "") -> list[Tile]:
    """The tiles that pass the filter and hold `text` in their name, in the asked order; unknown keys mean the first."""
    _label, key, newest_first = SORTS.get(sort, SORTS[""])
    passes = FILTERS.get(show, FILTERS[""])[1]
    chosen = [tile for tile in tiles if passes(tile) and text.casefold() in tile.character.name.casefold()]
    return sorted(chosen, key=key, reverse=newest_first)  # type: ignore[arg-type]


def filter_choices(tiles: list[Tile], show: str) -> list[Choice]:
    """Each filter with the number of characters behind it."""
    return [Choice(key, label, sum(map(passes, tiles)), key == show) for key, (label, passes) in FILTERS.items()]


def sort_choices(sort: str) -> list[Choice]:
    return [Choice(key, label, is_current=key == sort) for key, (label, _key, _reverse) in SORTS.items()]
