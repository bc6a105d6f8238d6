"""Who is who in a group (the rules: memories/member_rules.py): the seats of the group file and whoever spoke.

What a person said about a seat or a speaker (MemberChoice) is kept apart from SillyTavern's group file, so it stays
when that is read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count

from accounts.models import User
from memories.member_rules import Card, Choice, Entry, Found, Resolved, Seat, Speaker, resolve, speaker_key
from memories.models import MemberChoice
from sync.models import Character, Chat, Group, GroupMember, Message

__all__ = ["Member", "Roster", "Unknown", "groups_of", "readers", "roster", "rosters", "speaker_key"]


@dataclass(frozen=True)
class Member:
    """One character that remembers for itself. `speakers` are the keys (MemberChoice.speaker) under which it speaks,
    `messages` how many it said in chats that are still there."""

    character: Character
    is_muted: bool = False
    is_seated: bool = True
    speakers: frozenset[str] = frozenset()
    messages: int = 0


@dataclass(frozen=True)
class Unknown:
    """A seat or a speaker that belongs to no card: `messages` were said under this name."""

    speaker: str
    name: str
    messages: int


@dataclass
class Roster:
    """Everybody of a group: members in the order of their seats, then those who only spoke.

    `entries` are all seats and speakers, also those that a person left out; `choices` what a person said, by key.
    """

    members: list[Member] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    choices: dict[str, MemberChoice] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @property
    def characters(self) -> list[Character]:
        return [one.character for one in self.members]

    def who_spoke(self, message: Message) -> Character | None:
        """The member who said a message; None for a person, a narrator and whoever is unknown."""
        if message.role != Message.Role.CHARACTER:
            return None
        key = speaker_key(message.name, message.sender_avatar)
        return next((one.character for one in self.members if key in one.speakers), None)


def roster(user: User, group: Group) -> Roster:
    """Who sits and speaks in a group. Five queries, however many chats it has."""
    return rosters(user, [group])[group.pk]


def rosters(user: User, groups: Sequence[Group]) -> dict[UUID, Roster]:
    """The same for several groups, by id, in as many queries as for one."""
    ids = [one.pk for one in groups]
    cards, choices, seats = _cards(user, groups), _choices(user, ids), _seats(user, ids)
    spoken = _spoken(user, ids)
    found = {one.pk: _resolved(one, cards, seats, spoken, choices) for one in groups}
    rows = {(row.tavern_id, row.avatar): row for row in _characters(user, groups, found.values())}
    return {one.pk: _roster(one, found[one.pk], rows, choices[one.pk]) for one in groups}


def _resolved(
    group: Group,
    cards: dict[UUID, list[Card]],
    seats: dict[UUID, list[Seat]],
    spoken: dict[UUID, list[Speaker]],
    choices: dict[UUID, dict[str, MemberChoice]],
) -> Resolved:
    said = _as_rules(choices[group.pk], group)
    return resolve(cards[group.tavern_id], seats[group.pk], spoken[group.pk], said)


def _roster(
    group: Group, found: Resolved, rows: Mapping[tuple[UUID, str], Character], choices: dict[str, MemberChoice]
) -> Roster:
    known = ((rows.get((group.tavern_id, one.avatar)), one) for one in found.members)
    members = [_member(card, one) for card, one in known if card is not None]
    unknown = [Unknown(one.key, one.name, one.messages) for one in found.unknown]
    return Roster(members, unknown, choices, found.entries)


def _member(character: Character, one: Found) -> Member:
    return Member(character, one.is_muted, one.is_seated, frozenset(one.keys), one.messages)


def _cards(user: User, groups: Sequence[Group]) -> dict[UUID, list[Card]]:
    """Cards that are there, by tavern, without their texts."""
    rows = Character.objects.for_user(user).filter(tavern__in={one.tavern_id for one in groups}, gone_at=None)
    found: dict[UUID, list[Card]] = defaultdict(list)
    for tavern, avatar, name, former in rows.values_list("tavern", "avatar", "name", "former_avatars"):
        found[tavern].append(Card(avatar, name, tuple(map(str, former))))
    return found


def _choices(user: User, groups: list[UUID]) -> dict[UUID, dict[str, MemberChoice]]:
    rows = MemberChoice.objects.for_user(user).filter(group__in=groups).select_related("character")
    found: dict[UUID, dict[str, MemberChoice]] = defaultdict(dict)
    for row in rows.order_by("pk"):
        found[row.group_id][row.speaker] = row
    return found


def _as_rules(choices: Mapping[str, MemberChoice], group: Group) -> dict[str, Choice]:
    found = {}
    for key, row in choices.items():
        card = row.character
        is_there = card is not None and card.gone_at is None and card.tavern_id == group.tavern_id
        found[key] = Choice(row.kind, card.avatar if card is not None and is_there else "")
    return found


def _seats(user: User, groups: list[UUID]) -> dict[UUID, list[Seat]]:
    rows = GroupMember.objects.for_user(user).filter(group__in=groups).order_by("position")
    found: dict[UUID, list[Seat]] = defaultdict(list)
    for group, avatar, is_disabled in rows.values_list("group", "avatar", "is_disabled"):
        found[group].append(Seat(avatar, is_disabled))
    return found


def _spoken(user: User, groups: list[UUID]) -> dict[UUID, list[Speaker]]:
    """Whoever spoke as a character in chats that are still there, and how often."""
    rows = Message.objects.for_user(user).filter(chat__group__in=groups, chat__gone_at=None)
    counted = rows.filter(role=Message.Role.CHARACTER).order_by().values_list("chat__group", "name", "sender_avatar")
    found: dict[UUID, list[Speaker]] = defaultdict(list)
    for group, name, avatar, count in counted.annotate(n=Count("pk")):
        found[group].append(Speaker(name, avatar, count))
    return found


def _characters(user: User, groups: Sequence[Group], found: Iterable[Resolved]) -> list[Character]:
    avatars = {member.avatar for one in found for member in one.members}
    rows = Character.objects.for_user(user).filter(tavern__in={one.tavern_id for one in groups}, gone_at=None)
    return list(rows.filter(avatar__in=avatars).select_related("tavern"))


def readers(user: User, chat: Chat) -> list[Character]:
    """Who remembers what was said in a chat: its character, or the members of its group."""
    if chat.group is not None:
        return roster(user, chat.group).characters
    return [chat.character] if chat.character is not None else []


def groups_of(user: User, character: Character) -> list[Group]:
    """The groups in which a character remembers, by name."""
    groups = list(Group.objects.for_user(user).filter(tavern=character.tavern_id, gone_at=None).order_by("name", "pk"))
    found = rosters(user, groups)
    return [one for one in groups if any(member.pk == character.pk for member in found[one.pk].characters)]
