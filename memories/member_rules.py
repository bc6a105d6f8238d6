"""Who is who in a group, from names alone (pure; spec/charmemory §3.12, problem-reports D2).

A seat or a speaker is known by a key: the avatar file it came with, or "name:" and the name of somebody who spoke
without one. What a person chose for a key wins. Otherwise an avatar finds the card of that file, or the one card that
had that file name before it was renamed; only who spoke without an avatar is found by name, and only when exactly one
card has it. So two cards of one name never share anything. A muted seat is a seat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

BY_NAME = "name:"
ADDED = "added:"  # and an avatar: a member that neither sits nor spoke, added by hand
CARD, PERSONA, LEFT_OUT = "card", "persona", "left_out"


@dataclass(frozen=True)
class Card:
    """A card that is there now, with the avatar files it had before."""

    avatar: str
    name: str
    former: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seat:
    avatar: str
    is_muted: bool = False


@dataclass(frozen=True)
class Speaker:
    """Somebody who spoke as a character; `avatar` is the original_avatar of the messages."""

    name: str
    avatar: str = ""
    messages: int = 0


@dataclass(frozen=True)
class Choice:
    """What a person said: `avatar` names the card when `kind` is CARD; "" when that card is gone."""

    kind: str
    avatar: str = ""


@dataclass
class Entry:
    """One seat or speaker and what it stands for: the avatar of a card in `stands_for`, or "".

    `name` is that of the card with this avatar, else the one it spoke under most often, else the file's.
    `kind` is CARD, PERSONA, LEFT_OUT, or "" as long as nobody knows who it is.
    """

    key: str
    name: str
    messages: int = 0
    is_seated: bool = False
    is_muted: bool = False
    kind: str = ""
    stands_for: str = ""

    @property
    def is_added(self) -> bool:
        return self.key.startswith(ADDED)


@dataclass
class Found:
    """A member: its card, the keys under which it sits and speaks, and the messages it said."""

    avatar: str
    keys: set[str] = field(default_factory=set)
    messages: int = 0
    is_seated: bool = False
    is_muted: bool = False


@dataclass(frozen=True)
class Resolved:
    """Everybody of a group, seats first."""

    entries: list[Entry]

    @property
    def members(self) -> list[Found]:
        """Those who remember, in the order of their seats, then those who only spoke, then those added by hand."""
        found: dict[str, Found] = {}
        for entry in self.entries:
            if entry.kind == CARD:
                one = found.setdefault(entry.stands_for, Found(entry.stands_for))
                one.keys.add(entry.key)
                one.messages += entry.messages
                one.is_seated |= entry.is_seated
                one.is_muted |= entry.is_muted
        return list(found.values())

    @property
    def unknown(self) -> list[Entry]:
        """Seats and speakers that belong to no card, who spoke most first."""
        return sorted((one for one in self.entries if not one.kind), key=lambda one: -one.messages)


def speaker_key(name: str, avatar: str) -> str:
    """How somebody who spoke is named in choices: the avatar file, else the name."""
    return avatar or f"{BY_NAME}{name.strip()}"


def resolve(
    cards: Sequence[Card], seats: Iterable[Seat], speakers: Iterable[Speaker], choices: Mapping[str, Choice]
) -> Resolved:
    """Every seat and speaker once, with what it stands for; `choices` are those of a person, by key."""
    finder = _Finder(cards, choices)
    names = {card.avatar: card.name for card in cards}
    entries = _seated(seats, names)
    for speaker in sorted(speakers, key=lambda one: -one.messages):
        key = speaker_key(speaker.name, speaker.avatar)
        if key != BY_NAME:
            entry = entries.setdefault(key, Entry(key, names.get(key) or speaker.name.strip() or _stem(key)))
            if key not in names and entry.is_seated and not entry.messages and speaker.name.strip():
                entry.name = speaker.name.strip()
            entry.messages += speaker.messages
    for key, choice in choices.items():
        if key.startswith(ADDED) and choice.avatar:
            entries[key] = Entry(key, _stem(choice.avatar))
    for entry in entries.values():
        entry.kind, entry.stands_for = finder.find(entry)
    return Resolved(list(entries.values()))


def _seated(seats: Iterable[Seat], names: Mapping[str, str]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for seat in seats:
        if seat.avatar:
            entry = entries.setdefault(
                seat.avatar, Entry(seat.avatar, names.get(seat.avatar) or _stem(seat.avatar), is_seated=True)
            )
            entry.is_muted |= seat.is_muted
    return entries


def _stem(avatar: str) -> str:
    return avatar.rpartition(".")[0] or avatar


class _Finder:
    """Cards by what a person chose, by avatar file, by former avatar file, and last by a name that only one has."""

    def __init__(self, cards: Sequence[Card], choices: Mapping[str, Choice]) -> None:
        self.choices = choices
        self.cards = {card.avatar: card for card in cards}
        former: dict[str, set[str]] = defaultdict(set)
        names: dict[str, set[str]] = defaultdict(set)
        for card in cards:
            names[card.name.strip().casefold()].add(card.avatar)
            for avatar in card.former:
                former[avatar].add(card.avatar)
        self.former = {avatar: next(iter(found)) for avatar, found in former.items() if len(found) == 1}
        self.names = {name: next(iter(found)) for name, found in names.items() if len(found) == 1}

    def find(self, entry: Entry) -> tuple[str, str]:
        """(kind, avatar of the card)."""
        chosen = self.choices.get(entry.key)
        if chosen is not None and chosen.kind != CARD:
            return chosen.kind, ""
        if chosen is not None:
            return (CARD, chosen.avatar) if chosen.avatar in self.cards else ("", "")
        avatar = self._by_itself(entry)
        if not avatar:
            return "", ""
        aside = self._set_aside(self.cards[avatar])
        return (aside, "") if aside else (CARD, avatar)

    def _by_itself(self, entry: Entry) -> str:
        if entry.key.startswith(BY_NAME):
            return self.names.get(entry.key.removeprefix(BY_NAME).casefold(), "")
        return entry.key if entry.key in self.cards else self.former.get(entry.key, "")

    def _set_aside(self, card: Card) -> str:
        """A card that a person left out stays out under its other names too."""
        kinds = (self.choices[key].kind for key in (card.avatar, *card.former) if key in self.choices)
        return next((kind for kind in kinds if kind != CARD), "")
