"""Further ways to SillyTavern that apps above add to a folder's panel on the settings page (the companion does)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sync.models import Tavern


@dataclass(frozen=True)
class Way:
    """One line of the panel. `status` is ok, warn or bad; `url` and `action` are its button."""

    icon: str
    title: str
    text: str
    status: str
    url: str
    action: str


makers: list[Callable[[Tavern], Way]] = []


def ways_to(tavern: Tavern) -> list[Way]:
    """The lines for this folder, in the order in which they were added."""
    return [make(tavern) for make in makers]
