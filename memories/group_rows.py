"""Rows of the tabs Memories, Chats and Health of a group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from accounts.models import User
from memories import mirrored
from memories.group_page import GroupFrame
from memories.group_table import Row
from memories.health import Step, steps_of
from memories.memory_filters import Filters
from memories.memory_list import Card, cards
from memories.models import MemoryBlock, MemoryFile
from memories.page_queries import Word
from memories.unread import unread_among
from sync.models import Character, FileConflict, Group

CARDS_EACH = 3


@dataclass(frozen=True)
class Behind:
    """A member that has not read all of a chat."""

    character: Character
    messages: int


def behind(frame: GroupFrame) -> dict[UUID, list[Behind]]:
    """By chat, the members with something unread there, who has most to read first."""
    members = {one.pk: one for one in frame.roster.characters}
    found: dict[UUID, list[Behind]] = defaultdict(list)
    for (chat, member), count in unread_among(frame.user, frame.chats, list(members.values())).items():
        found[chat].append(Behind(members[member], count))
    return {chat: sorted(late, key=lambda one: -one.messages) for chat, late in found.items()}


@dataclass(frozen=True)
class Reaching:
    """A member with what is missing until its memories reach the prompt, in the order in which to mend it."""

    row: Row
    missing: list[Step]

    @property
    def word(self) -> Word:
        """The state of its file; a file that SillyTavern reads and that is behind is not healthy yet."""
        word = self.row.health
        return Word("warn", _("not up to date")) if word.kind == "ok" and self.missing else word


def health_rows(frame: GroupFrame) -> list[Reaching]:
    """Each member's file on its way to the prompt; the queries do not grow with the members."""
    rows = MemoryFile.objects.for_user(frame.user).filter(character__in=frame.roster.characters, chat=None)
    files = {file.character_id: file for file in rows.select_related("attachment__tavern__owner")}
    for guest in mirrored.guests_in({row.character.tavern_id for row in frame.rows}, frame.user):
        files[guest.character_id] = mirrored.as_shown(guest)
    attachments = [file.attachment_id for file in files.values() if file.attachment_id]
    waiting = FileConflict.objects.for_user(frame.user).filter(attachment__in=attachments, decided_at=None)
    conflicts = {one.attachment_id: one for one in waiting}
    found = []
    for row in frame.rows:
        file = files.get(row.character.pk)
        conflict = conflicts.get(file.attachment_id) if file and file.attachment_id else None
        steps = steps_of(row.character.tavern, file, conflict)
        found.append(Reaching(row, [step for step in steps if not step.ok]))
    return found


@dataclass
class Section:
    """One member's newest cards from this group's chats."""

    row: Row
    cards: list[Card]


def sections(frame: GroupFrame) -> list[Section]:
    """One for each member, in three queries."""
    rows = MemoryBlock.objects.for_user(frame.user).filter(file__character__in=frame.roster.characters)
    newest = rows.filter(chat__group=frame.group).order_by("-order", "-created_at", "-pk")
    by_member: dict[UUID, list[Any]] = defaultdict(list)
    for pk, character in newest.values_list("pk", "file__character"):
        if len(by_member[character]) < CARDS_EACH:
            by_member[character].append(pk)
    shown = cards(frame.user, [pk for found in by_member.values() for pk in found], Filters())
    by_block = {card.block.pk: card for card in shown}
    return [Section(row, [by_block[pk] for pk in by_member[row.character.pk] if pk in by_block]) for row in frame.rows]


def memories_by_chat(user: User, group: Group) -> dict[UUID, int]:
    """Memories of all members by the chat they came from."""
    rows = MemoryBlock.objects.for_user(user).filter(chat__group=group).order_by().values_list("chat")
    return dict(rows.annotate(n=Count("memories", filter=Q(memories__is_topic=False))))
