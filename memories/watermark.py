"""The watermark of a chat: everything before it has been read. What exactly was read stands in ExtractedChunk.marks.

Index and counts follow from those marks, so they can be made again at any time: after a chunk, after SillyTavern
changed the chat, after somebody marked messages as read or asked for them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from memories import queries
from memories.members import readers
from memories.models import ExtractedChunk, Watermark
from memories.queries import Reading, Stretch, Waiting, speaks_up
from memories.reading import TAIL, Mark, end_of_stretch, last_read, tail_of
from memories.transcript import Entry
from memories.unread import unread_among
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
    found = queries.next_of(reading, of_reading(reading, character), one.ends)
    if found is None and not reading.waiting:
        remember(user, reading, character)
    return found


def of_reading(reading: Reading, character: Character) -> Watermark:
    """The watermark that a reading makes, unsaved."""
    return Watermark(chat=reading.chat, character=character, **_values(reading))


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
    is_inside = stretch.is_plain and last.index < before.unread_to
    if not is_inside or not rows.update(
        anchor=last.identity,
        index=last.index,
        tail=[*before.tail, *(one.identity for one in read)][-TAIL:],
        waiting=max(0, before.waiting - spoken),
        updated_at=timezone.now(),
    ):
        recount(user, stretch.chat, character)


def settle(news: ChatsChanged) -> None:
    """After a change in SillyTavern: watermarks of these chats, and of new branches of chats that were read.

    Only for those who have read something of this character's or this group's chats.
    """
    with unscoped("chats changed in SillyTavern"):
        chats = Chat.objects.filter(pk__in=news.chat_ids).select_related("tavern__owner")
        readers = _readers_so_far(chats)
        for chat in chats:
            found = readers.get(chat.group_id or chat.character_id, [])
            for reading, character in zip(queries.readings_of(chat.tavern.owner, chat, found), found, strict=True):
                remember(chat.tavern.owner, reading, character)


def _readers_so_far(chats: QuerySet[Chat]) -> dict[uuid.UUID | None, list[Character]]:
    """By group or character: who has read of its chats."""
    found: dict[uuid.UUID | None, list[Character]] = {}
    for whose in ("group", "character"):
        ids = {one for one in chats.values_list(whose, flat=True) if one}
        rows = ExtractedChunk.objects.filter(**{f"chat__{whose}__in": ids}).order_by()
        pairs = list(rows.values_list(f"chat__{whose}", "character").distinct())
        characters = Character.objects.in_bulk({character for _whose, character in pairs})
        for one, character in pairs:
            found.setdefault(one, []).append(characters[character])
    return found


def recount(user: User, chat: Chat, character: Character) -> Watermark:
    """Find the watermark of a chat again from what was read."""
    return remember(user, queries.reading_of(user, chat, character), character)


def mark_read(user: User, chat: Chat, character: Character, index: int) -> Watermark:
    """Count everything up to message number `index` as read, without asking a model."""
    reading = queries.reading_of(user, chat, character)
    with transaction.atomic():
        return remember(user, reading, character, _skip(user, reading, character, index))


def _skip(user: User, reading: Reading, character: Character, index: int) -> list[int]:
    """Note all unread positions up to message number `index` as read by hand."""
    positions = [position for position in reading.fresh if reading.indices[position] <= index]
    _note(user, reading, character, positions, "skipped")
    return positions


def _note(user: User, reading: Reading, character: Character, positions: list[int], outcome: str) -> None:
    if positions:
        marks = [reading.marks[position] for position in positions]
        first, last = reading.indices[positions[0]], reading.indices[positions[-1]]
        key = f"{outcome}-{uuid.uuid4().hex}"
        record(user, reading.chat, character, marks, first=first, last=last, outcome=outcome, key=key)


def move_point(user: User, chat: Chat, character: Character, index: int) -> Watermark:
    """Put the point at message number `index` (-1: before the first): everything up to it counts as read, everything
    behind it is unread again, also what a branch shares with a chat that was read."""
    reading = queries.reading_of(user, chat, character)
    with transaction.atomic():
        _skip(user, reading, character, index)
        _take_back(user, reading, character, index + 1, None)
        return recount(user, chat, character)


def reopen(user: User, chat: Chat, character: Character, first: int | None = None, last: int | None = None) -> int:
    """Have these messages read again (both numbers included, None: to that end of the chat); how many they are.

    Memories stay. The next reading pays for the messages again, because a person asked for it.
    """
    reading = queries.reading_of(user, chat, character)
    with transaction.atomic():
        positions = _take_back(user, reading, character, first, last)
        if positions:
            recount(user, chat, character)
    return sum(reading.speaks[one] for one in positions)


def _take_back(user: User, reading: Reading, character: Character, first: int | None, last: int | None) -> list[int]:
    """The positions that were read between these numbers, noted as to be read again.

    A chunk that held one of them may be paid for once more, so it gives its key away.
    """
    fresh = set(reading.fresh)
    positions = [
        position
        for position, number in enumerate(reading.indices)
        if position not in fresh and (first is None or number >= first) and (last is None or number <= last)
    ]
    wanted = {reading.marks[position].identity for position in positions}
    chunks = ExtractedChunk.objects.for_user(user).filter(chat=reading.chat, character=character)
    for chunk in chunks.exclude(outcome=queries.REOPENED) if positions else ():
        if any(mark[0] in wanted for mark in chunk.marks):
            chunks.filter(pk=chunk.pk).update(key=f"earlier-{uuid.uuid4().hex}")
    _note(user, reading, character, positions, queries.REOPENED)
    return positions


def reset_character(user: User, character: Character) -> int:
    """Forget everything that was read for a character, also in groups; how many messages are unread by that.

    Memories stay. What was read can be noted before with `reading_of` and taken back with `count_as_read`.
    """
    chunks = ExtractedChunk.objects.for_user(user).filter(character=character)
    chats = list(Chat.objects.for_user(user).filter(pk__in=chunks.values("chat"), gone_at=None))
    before = unread_among(user, chats, [character])
    with transaction.atomic():
        chunks.delete()
        Watermark.objects.for_user(user).filter(character=character).delete()
    return sum(unread_among(user, chats, [character]).values()) - sum(before.values())


def marks_of_readers(user: User, chat: Chat) -> dict[uuid.UUID, Watermark]:
    """How far a chat is read for each of its readers, by character; a mark that is behind the chat comes unsaved."""
    everybody = readers(user, chat)
    rows = Watermark.objects.for_user(user).filter(chat=chat, counted_version=chat.version)
    known = {mark.character_id: mark for mark in rows}
    missing = [one for one in everybody if one.pk not in known]
    made = queries.readings_of(user, chat, missing) if missing else []
    for character, reading in zip(missing, made, strict=True):
        known[character.pk] = of_reading(reading, character)
    return {one.pk: known[one.pk] for one in everybody}


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
        own = _without_taken_back([one for one in kept if one["chat"] == str(chat.pk)])
        rows = [ExtractedChunk(owner=user, character=character, **{**one, "chat": chat}) for one in own]
        ExtractedChunk.objects.bulk_create(rows, batch_size=200, ignore_conflicts=True)
        recount(user, chat, character)


def _without_taken_back(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chunks without the messages that a later one took back: they would take back what was read anew meanwhile."""
    found: list[dict[str, Any]] = []
    for one in kept:
        if one["outcome"] != queries.REOPENED:
            found.append(one)
            continue
        back = {mark[0] for mark in one["marks"]}
        found = [{**row, "marks": [mark for mark in row["marks"] if mark[0] not in back]} for row in found]
    return [one for one in found if one["marks"]]


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
