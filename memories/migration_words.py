"""How the page about taking over names and groups what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

from memories.extraction_forms import WORDINGS, in_words
from memories.migration import Choice, Offer, OwnPrompt, Point
from memories.prompt_words import long_name


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
    return [_row(one) for one in offer.choices]


def _row(one: Choice) -> Row:
    return Row(one.name, str(WORDINGS[one.name].label), in_words(one.name, one.now), in_words(one.name, one.theirs))


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
