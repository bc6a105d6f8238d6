"""Pin: a person keeps something in their own words, from a message or from nothing, for one or several characters."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import memory_file
from memories.blocks import clean_bullet, timestamp
from memories.evidence import Evidence
from memories.file_editor import NewMemory
from memories.local_time import local_now
from memories.members import Roster, roster
from memories.models import MemoryBlock, Revision
from memories.plain_text import plain_text
from memories.scopes import file_of_reading, own_file
from memories.transcript import Entry, Line
from sync.models import Character, Group, Message

MOST_LINES = 200


@dataclass(frozen=True)
class Whom:
    """For whom a memory can be pinned: those of the chat, everybody else, and who is chosen at first."""

    near: list[Character]
    others: list[Character]
    chosen: set[uuid.UUID]


def pin(
    user: User, characters: Sequence[Character], lines: Sequence[str], message: Message | None = None
) -> list[Revision]:
    """Keep each line as one bullet, word for word, in a block of its own in each character's file.

    With a message, its chat names the block and the message is the evidence. All files or none; their revisions share
    a batch. ValueError with a finished sentence without a character or without words.
    """
    words = [line for line in map(clean_bullet, lines) if line]
    if not words:
        raise ValueError(_("Write at least one memory."))
    if len(words) > MOST_LINES:
        raise ValueError(_("These are more than %(n)d lines. Pin them in two goes.") % {"n": MOST_LINES})
    if not characters:
        raise ValueError(_("Choose whose memory it is."))
    batch = uuid.uuid4()
    bullets = [NewMemory(one, evidence=_evidence(one, message)) for one in words]
    with transaction.atomic():
        return [_pin_one(user, character, bullets, message, batch) for character in characters]


def _pin_one(
    user: User, character: Character, bullets: list[NewMemory], message: Message | None, batch: uuid.UUID
) -> Revision:
    character.tavern.owner = user
    file = own_file(character) if message is None else file_of_reading(character, message.chat)
    source: dict[str, Any] = {}
    if message is not None:
        source = {"chat": message.chat, "first_index": message.index, "last_index": message.index}
    with memory_file.change(file, reason=_reason(message), author=user, batch=batch) as editor:
        editor.add_block(
            message.chat.name if message else _("Pinned"),
            bullets,
            date=timestamp(local_now(user, timezone.now())),
            origin=MemoryBlock.Origin.PINNED,
            **source,
        )
    return file.revisions.get(number=file.version)


def _reason(message: Message | None) -> str:
    if message is None:
        return _("Pinned")
    return _("Pinned from “%(chat)s”, message %(n)d") % {"chat": message.chat.name, "n": message.index}


def _evidence(words: str, message: Message | None) -> list[dict[str, Any]]:
    if message is None:
        return []
    m = message
    entry = Entry(m.index, m.role, m.name, m.text, m.identity, m.content, m.raw_date, m.is_hidden)
    return Evidence([Line(entry, plain_text(m.text))]).links(words)


def whom(
    user: User, message: Message | None = None, wanted: Character | None = None, group: Group | None = None
) -> Whom:
    """Who can remember it. In a group the speaker is chosen; a narrator, or the person, chooses nobody, and neither
    does a group alone."""
    group = message.chat.group if message is not None else group
    who = roster(user, group) if group is not None else None
    near = who.characters if who is not None else []
    if message is not None and message.chat.character is not None:
        near = [message.chat.character]
    everybody = Character.objects.for_user(user).filter(gone_at=None).select_related("tavern").order_by("name", "pk")
    others = [one for one in everybody if one.pk not in {known.pk for known in near}]
    return Whom(near, others, _chosen(message, wanted, who, near))


def _chosen(
    message: Message | None, wanted: Character | None, who: Roster | None, near: list[Character]
) -> set[uuid.UUID]:
    if wanted is not None:
        return {wanted.pk}
    if message is None:
        return set()
    if who is None:
        return {one.pk for one in near}
    speaker = who.who_spoke(message)
    return {speaker.pk} if speaker is not None else set()
