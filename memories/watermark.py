"""The watermark of a chat: everything before it has been read. What exactly was read stands in ExtractedChunk.marks.

Index and counts follow from those marks, so they can be made again at any time: after a chunk, after SillyTavern
changed the chat, after somebody marked messages as read or asked for them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from memories import queries
from memories.models import ExtractedChunk, Watermark
from memories.queries import Reading, Stretch, Waiting, speaks_up
from memories.reading import TAIL, Mark, end_of_stretch, last_read, tail_of
from memories.transcript import Entry
from sync.events import ChatsChanged
from sync.models import Character, Chat


def remember(user: User, reading: Reading, character: Character, now_read: Iterable[int] = ()) -> Watermark:
    """Write the watermark of `reading`, with the positions `now_read` counted as read."""
    values = _values(reading, now_read)
    rows = Watermark.objects.for_user(user).filter(chat=reading.chat, character=character)
    if not rows.update(**values, updated_at=timezone.now()):
        rows.get_or_create(chat=reading.chat, character=character, defaults=values)
    return Watermark(chat=reading.chat, character=character, **values)


def _values(reading: Reading, now_read: Iterable[int] = ()) -> dict[str, Any]:
    done = set(now_read)
    fresh = [position for position in reading.fresh if position not in done]
    position = last_read(len(reading.marks), fresh)
    identities = [mark.identity for mark in reading.marks]
    return {
        "anchor": identities[position] if position >= 0 else "",
        "index": reading.indices[position] if position >= 0 else -1,
        "unread_to": reading.indices[end_of_stretch(fresh)] if fresh else -1,
        "tail": tail_of(identities, position),
        "waiting": sum(reading.speaks[one] for one in fresh),
        "counted_version": reading.chat.version,
    }


def next_stretch(user: User, one: Waiting, character: Character) -> Stretch | None:
    """The first unread stretch of a chat; None when only silent messages are left, which are settled on the way."""
    reading = one.reading or queries.reading_of(user, one.chat, character)
    if reading.waiting:
        return Stretch(one.chat, Watermark(chat=one.chat, character=character, **_values(reading)))
    remember(user, reading, character)
    return None


def advance(user: User, stretch: Stretch, character: Character, read: Sequence[Entry]) -> None:
    """Move the watermark over `read`, the first messages of `stretch`, whose chunk has been recorded."""
    before, last = stretch.mark, read[-1]
    spoken = sum(speaks_up(one.role, one.name) for one in read)
    rows = character.watermarks.filter(
        chat=stretch.chat,
        index=before.index,
        unread_to=before.unread_to,
        waiting=before.waiting,
        counted_version=before.counted_version,
    )
    is_inside = last.index < before.unread_to
    if not is_inside or not rows.update(
        anchor=last.identity,
        index=last.index,
        tail=[*before.tail, *(one.identity for one in read)][-TAIL:],
        waiting=max(0, before.waiting - spoken),
        updated_at=timezone.now(),
    ):
        recount(user, stretch.chat, character)


def settle(news: ChatsChanged) -> None:
    """After a change in SillyTavern: watermarks of these chats, and of new branches of chats that were read."""
    with unscoped("chats changed in SillyTavern"):
        chats = Chat.objects.filter(pk__in=news.chat_ids, character__isnull=False)
        known = ExtractedChunk.objects.filter(character__chats__in=chats).values_list("character", flat=True)
        for chat in chats.filter(character__in=known.distinct()).select_related("character", "tavern__owner"):
            if chat.character is not None:
                recount(chat.tavern.owner, chat, chat.character)


def recount(user: User, chat: Chat, character: Character) -> Watermark:
    """Find the watermark of a chat again from what was read."""
    return remember(user, queries.reading_of(user, chat, character), character)


def mark_read(user: User, chat: Chat, character: Character, index: int) -> Watermark:
    """Count everything up to message number `index` as read, without asking a model."""
    reading = queries.reading_of(user, chat, character)
    positions = [position for position in reading.fresh if reading.indices[position] <= index]
    with transaction.atomic():
        if positions:
            marks = [reading.marks[position] for position in positions]
            numbers = [reading.indices[position] for position in positions]
            key = f"skipped-{uuid.uuid4().hex}"
            record(user, chat, character, marks, first=numbers[0], last=numbers[-1], outcome="skipped", key=key)
        return remember(user, reading, character, positions)


def read_again(user: User, chat: Chat, character: Character) -> Watermark:
    """Forget what was read of this chat; memories stay, the next extraction pays for it again.

    What a branch shares with a chat that was read stays read by way of that chat.
    """
    with transaction.atomic():
        chat.extracted_chunks.filter(character=character).delete()
        return recount(user, chat, character)


READING = ("chat", "key", "first_index", "last_index", "marks", "messages", "memories", "outcome")


def reading_of(user: User, character: Character) -> list[dict[str, Any]]:
    """Everything that was read for a character, as JSON, so that it can count as read again."""
    rows = ExtractedChunk.objects.for_user(user).filter(character=character).order_by("pk").values(*READING)
    return [{**row, "chat": str(row["chat"])} for row in rows]


def count_as_read(user: User, character: Character, kept: Sequence[dict[str, Any]]) -> None:
    """What `reading_of` said counts as read again; what was read anew meanwhile stays as it is."""
    chats = Chat.objects.for_user(user).filter(pk__in={one["chat"] for one in kept}, forgotten_at=None)
    for chat in chats.select_related("tavern"):
        own = [{**one, "chat": chat} for one in kept if one["chat"] == str(chat.pk)]
        rows = [ExtractedChunk(owner=user, character=character, **one) for one in own]
        ExtractedChunk.objects.bulk_create(rows, batch_size=200, ignore_conflicts=True)
        recount(user, chat, character)


def record(
    user: User,
    chat: Chat,
    character: Character,
    marks: list[Mark],
    *,
    first: int,
    last: int,
    outcome: str,
    key: str,
    **fields: object,
) -> ExtractedChunk:
    """Note that these messages were read; `fields` are further ExtractedChunk fields. A key is written once."""
    return ExtractedChunk.objects.create(
        owner=user,
        key=key,
        chat=chat,
        character=character,
        first_index=first,
        last_index=last,
        marks=[list(mark) for mark in marks],
        messages=len(marks),
        outcome=outcome,
        **fields,
    )
