"""All groups with their members' faces, what they remember together, and what waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Q

from accounts.models import User
from memories.group_table import worst_of
from memories.members import Member, Roster, rosters
from memories.models import MemoryBlock, MemoryFile
from memories.page_queries import Word, health_word
from memories.unread import Unread, unread_by_group
from sync.models import Group

FACES = 6


@dataclass
class GroupTile:
    """A group as the list shows it."""

    group: Group
    roster: Roster
    memories: int = 0
    unread: Unread = field(default_factory=Unread)
    last_chat_at: datetime | None = None
    chats: int = 0
    health: Word = field(default_factory=lambda: worst_of(()))

    @property
    def faces(self) -> list[Member]:
        return self.roster.members[:FACES]

    @property
    def more(self) -> int:
        """Members without room for a face."""
        return max(0, len(self.roster.members) - FACES)


def group_tiles(user: User) -> list[GroupTile]:
    """Groups that are still there, the one used last first; the number of queries does not grow with them."""
    there = Q(chats__gone_at=None)
    rows = Group.objects.for_user(user).filter(gone_at=None, tavern__unlinked_at=None).select_related("tavern")
    groups = list(
        rows.annotate(last_chat_at=Max("chats__last_at", filter=there), chat_count=Count("chats", filter=there))
    )
    found, unread = rosters(user, groups), unread_by_group(user)
    counts, health = _counts(user, found), _health(user, found)
    tiles = [
        GroupTile(
            one,
            found[one.pk],
            memories=counts.get(one.pk, 0),
            unread=unread.get(one.pk, Unread()),
            last_chat_at=getattr(one, "last_chat_at", None),
            chats=getattr(one, "chat_count", 0),
            health=worst_of(health[member.pk] for member in found[one.pk].characters),
        )
        for one in groups
    ]
    tiles.sort(key=lambda tile: tile.group.name.casefold())
    return sorted(tiles, key=lambda tile: tile.last_chat_at.timestamp() if tile.last_chat_at else 0, reverse=True)


def _counts(user: User, found: dict[UUID, Roster]) -> dict[UUID, int]:
    """Memories of the members from their group's chats, by group."""
    rows = MemoryBlock.objects.for_user(user).filter(chat__group__in=list(found)).order_by()
    counted = rows.values_list("chat__group", "file__character").annotate(
        n=Count("memories", filter=Q(memories__is_topic=False))
    )
    members = {pk: {one.pk for one in who.characters} for pk, who in found.items()}
    counts: dict[UUID, int] = {}
    for group, character, n in counted:
        if character in members[group]:
            counts[group] = counts.get(group, 0) + n
    return counts


def _health(user: User, found: dict[UUID, Roster]) -> dict[UUID, Word]:
    """One word about each member's own file."""
    characters = {one.pk: one for who in found.values() for one in who.characters}
    files = MemoryFile.objects.for_user(user).filter(character__in=list(characters), chat=None)
    by_character = {file.character_id: file for file in files.select_related("attachment")}
    return {pk: health_word(by_character.get(pk), one.tavern) for pk, one in characters.items()}
