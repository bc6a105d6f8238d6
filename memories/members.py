"""Who is who in a group (spec/charmemory §3.12, problem-reports D2): the seats of the group file and whoever spoke.

A disabled seat is a muted member, not a removed one. Cards are found by avatar file name, never by display name, unless
a speaker came without an avatar and exactly one card has that name. What a person said about a speaker wins and stays.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import Count

from accounts.models import User
from memories.models import MemberChoice
from sync.models import Character, Chat, Group, GroupMember, Message

BY_NAME = "name:"


@dataclass(frozen=True)
class Member:
    """One character that remembers for itself. `speakers` are the keys (MemberChoice.speaker) under which it speaks."""

    character: Character
    is_muted: bool = False
    is_seated: bool = True
    speakers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Unknown:
    """A seat or a speaker that belongs to no card: `messages` were said under this name."""

    speaker: str
    name: str
    messages: int


@dataclass
class Roster:
    """Everybody of a group: members in the order of their seats, then those who only spoke."""

    members: list[Member] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    choices: dict[str, MemberChoice] = field(default_factory=dict)

    @property
    def characters(self) -> list[Character]:
        return [one.character for one in self.members]


def speaker_key(name: str, avatar: str) -> str:
    """How somebody who spoke is named in choices: the avatar file, else the name."""
    return avatar or f"{BY_NAME}{name}"


def roster(user: User, group: Group) -> Roster:
    """Who sits and speaks in a group. Four queries, however many chats it has."""
    cards = list(Character.objects.for_user(user).filter(tavern=group.tavern_id, gone_at=None).select_related("tavern"))
    choices = {one.speaker: one for one in group.member_choices.select_related("character__tavern")}
    finder = _Finder(cards, choices)
    seats = list(group.members.order_by("position"))
    spoken = _spoken(user, group)
    keys: dict[Character, set[str]] = defaultdict(set)
    muted = {seat.avatar for seat in seats if seat.is_disabled}
    unknown: dict[str, Unknown] = {}
    seated: dict[Character, GroupMember] = {}
    for seat in seats:
        found = finder.find(seat.avatar, "")
        if found is not None:
            seated.setdefault(found, seat)
            keys[found].add(seat.avatar)
        elif finder.is_open(seat.avatar):
            unknown[seat.avatar] = Unknown(seat.avatar, seat.avatar.removesuffix(".png"), 0)
    for (name, avatar), count in spoken.items():
        key = speaker_key(name, avatar)
        found = finder.find(avatar, name)
        if found is not None:
            keys[found].add(key)
        elif finder.is_open(key):
            before = unknown.get(key)
            unknown[key] = Unknown(key, name or key, count + (before.messages if before else 0))
    order = [*seated, *(one for one in keys if one not in seated)]
    members = [
        Member(one, is_muted=bool(keys[one] & muted), is_seated=one in seated, speakers=frozenset(keys[one]))
        for one in order
    ]
    return Roster(members, list(unknown.values()), choices)


def _spoken(user: User, group: Group) -> dict[tuple[str, str], int]:
    """Messages by (name, avatar) of whoever spoke as a character in chats that are still there."""
    rows = Message.objects.for_user(user).filter(chat__group=group, chat__gone_at=None, role=Message.Role.CHARACTER)
    counted = rows.order_by().values("name", "sender_avatar").annotate(n=Count("pk"))
    return {(row["name"], row["sender_avatar"]): row["n"] for row in counted if row["name"] or row["sender_avatar"]}


class _Finder:
    """Cards by avatar, by what a person said, and last by a name that only one card has."""

    def __init__(self, cards: list[Character], choices: dict[str, MemberChoice]) -> None:
        self.choices = choices
        self.by_avatar = {card.avatar: card for card in cards}
        for card in cards:
            for former in card.former_avatars:
                self.by_avatar.setdefault(str(former), card)
        names: dict[str, list[Character]] = defaultdict(list)
        for card in cards:
            names[card.name.strip().casefold()].append(card)
        self.by_name = {name: found[0] for name, found in names.items() if len(found) == 1}

    def find(self, avatar: str, name: str) -> Character | None:
        chosen = self.choices.get(speaker_key(name, avatar))
        if chosen is not None:
            character = chosen.character if chosen.kind == MemberChoice.Kind.CARD else None
            return None if character is None else self.by_avatar.get(character.avatar)
        if avatar:
            return self.by_avatar.get(avatar)
        return self.by_name.get(name.strip().casefold())

    def is_open(self, key: str) -> bool:
        """Whether nobody has said yet who that is."""
        return key not in self.choices


def readers(user: User, chat: Chat) -> list[Character]:
    """Who remembers what was said in a chat: its character, or the members of its group."""
    if chat.group is not None:
        return roster(user, chat.group).characters
    return [chat.character] if chat.character is not None else []


def groups_of(user: User, character: Character) -> list[Group]:
    """The groups in which a character remembers, by name."""
    groups = Group.objects.for_user(user).filter(tavern=character.tavern_id, gone_at=None).order_by("name", "pk")
    return [one for one in groups if character in roster(user, one).characters]
