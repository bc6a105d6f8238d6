"""How the page about taking over names and groups what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.migration import Offer, OwnPrompt, Point
from memories.prompt_words import long_name

LABELS: dict[str, Promise] = {
    "is_automatic": gettext_lazy("Read chats by itself"),
    "interval": gettext_lazy("Character messages before a reading"),
    "lag": gettext_lazy("Further messages to wait for"),
    "cooldown_minutes": gettext_lazy("Minutes between two readings"),
    "leaves_newest": gettext_lazy("Leave the newest messages alone"),
    "newest": gettext_lazy("How many are left alone"),
    "messages_per_call": gettext_lazy("Messages per call"),
    "response_tokens": gettext_lazy("Longest answer, in tokens"),
    "merge_chunks": gettext_lazy("Merge the blocks of one reading"),
    "is_verbose": gettext_lazy("Keep prompts and answers in the log"),
}


@dataclass(frozen=True)
class Row:
    """One setting in words."""

    name: str
    label: str
    now: str
    theirs: str


@dataclass
class Chats:
    """The reading points of one character or group: those that can be taken over, doubtful ones, and how many are
    read further here already."""

    name: str
    points: list[Point] = field(default_factory=list)
    behind: int = 0


def choices(offer: Offer) -> list[Row]:
    """The settings that differ."""
    return [Row(one.name, str(LABELS[one.name]), _plain(one.now), _plain(one.theirs)) for one in offer.choices]


def prompts(offer: Offer) -> list[tuple[str, OwnPrompt]]:
    """The prompts with their names for people."""
    return [(long_name(one.name), one) for one in offer.prompts]


def by_owner(offer: Offer) -> list[Chats]:
    """Reading points by character or group, in their order."""
    found: dict[str, Chats] = {}
    for point in offer.points:
        owner = point.chat.group or point.chat.character
        row = found.setdefault(str(owner.pk) if owner else "", Chats(owner.name if owner else ""))
        if point.is_behind:
            row.behind += 1
        else:
            row.points.append(point)
    return [row for row in found.values() if row.points or row.behind]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    return str(value)
