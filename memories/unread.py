"""How much waits to be read, for pages that ask often: only chats that changed are counted again.

The exact count is kept with the watermark (branches, deletions). A chat that was never read, or that changed since,
is counted below its watermark, and that count is remembered in this process. What a branch shares with its parent is
counted with the parent: it is read once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Count, F, IntegerField, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce, Length

from accounts.models import User
from memories.models import Watermark
from memories.queries import READ_BY_MODEL
from sync.models import Character, Chat, Message

BATCH = 500
MOST_REMEMBERED = 50_000
SAMPLE = 200  # messages that tell how long messages are
USUAL_LETTERS = 400
ASK_AGAIN = 300.0  # seconds

_lengths: dict[UUID, tuple[float, int]] = {}  # person: when asked, mean letters of a message
_remembered: dict[UUID, tuple[int, int, int]] = {}  # chat: version, read up to, count


@dataclass
class Unread:
    """Messages that wait to be read, about how many letters they have, and in how many chats."""

    messages: int = 0
    letters: int = 0
    chats: int = 0
    character_id: UUID | None = None


def unread_by_chat(user: User, character: Character | None = None) -> dict[UUID, Unread]:
    """What waits in each 1:1 chat that has something unread; of one character, or of all."""
    rows = Chat.objects.for_user(user).filter(character__isnull=False, gone_at=None, message_count__gt=0)
    rows = rows.filter(character__gone_at=None, tavern__unlinked_at=None)
    if character is not None:
        rows = rows.filter(character=character)
    chats = list(rows.annotate(shared=_shared("")).values_list("pk", "version", "shared", "character"))
    counts = _counts(user, [(pk, version, shared) for pk, version, shared, _owner in chats])
    each = _usual_letters(user) if any(counts.values()) else 0
    return {pk: Unread(counts[pk], counts[pk] * each, 1, owner) for pk, _v, _s, owner in chats if counts.get(pk)}


def unread_by_character(user: User) -> dict[UUID, Unread]:
    """What waits, by character."""
    found: dict[UUID, Unread] = {}
    for part in unread_by_chat(user).values():
        if part.character_id is not None:
            whole = found.setdefault(part.character_id, Unread(character_id=part.character_id))
            whole.messages, whole.letters = whole.messages + part.messages, whole.letters + part.letters
            whole.chats += 1
    return found


def _shared(chat: str) -> Case:
    """The last message number that a chat has in common with a parent that is still there; -1 without one."""
    here = {f"{chat}parent__isnull": False, f"{chat}parent__gone_at": None}
    return Case(When(**here, then=Coalesce(F(f"{chat}fork_index"), -1)), default=-1, output_field=IntegerField())


def _counts(user: User, chats: list[tuple[UUID, int, int]]) -> dict[UUID, int]:
    rows = Watermark.objects.for_user(user).filter(character=F("chat__character"))
    marks = {row[0]: row[1:] for row in rows.values_list("chat", "index", "waiting", "counted_version")}
    counts: dict[UUID, int] = {}
    missing: dict[UUID, tuple[int, int]] = {}
    for pk, version, shared in chats:
        index, waiting, counted = marks.get(pk, (-1, 0, -1))
        begin = max(index, shared)
        known = _remembered.get(pk)
        if counted == version:
            counts[pk] = waiting
        elif known is not None and known[:2] == (version, begin):
            counts[pk] = known[2]
        else:
            missing[pk] = (version, begin)
    for pk, count in _counted(user, list(missing)):
        counts[pk] = count
        _remember(pk, (*missing[pk], count))
    return counts


def _counted(user: User, chats: list[UUID]) -> Iterator[tuple[UUID, int]]:
    """Messages below the watermark that the model would be shown."""
    read_to = Watermark.objects.filter(chat=OuterRef("chat"), character=OuterRef("chat__character")).values("index")[:1]
    for start in range(0, len(chats), BATCH):
        batch = chats[start : start + BATCH]
        rows = Message.objects.for_user(user).filter(chat__in=batch)
        rows = rows.filter(Q(role__in=READ_BY_MODEL) | Q(role=Message.Role.SYSTEM) & ~Q(name=""))
        unread = rows.annotate(
            read_to=Coalesce(Subquery(read_to, output_field=IntegerField()), -1), shared=_shared("chat__")
        )
        unread = unread.filter(index__gt=F("read_to")).filter(index__gt=F("shared")).order_by()
        found = dict(unread.values_list("chat").annotate(n=Count("pk")))
        yield from ((pk, found.get(pk, 0)) for pk in batch)


def _remember(pk: UUID, facts: tuple[int, int, int]) -> None:
    if len(_remembered) >= MOST_REMEMBERED:
        _remembered.clear()
    _remembered[pk] = facts


def _usual_letters(user: User) -> int:
    """How long this person's newest messages are, asked every few minutes: enough for an estimate."""
    now = time.monotonic()
    known = _lengths.get(user.pk)
    if known is None or now - known[0] > ASK_AGAIN:
        newest = Message.objects.for_user(user).order_by("-pk").annotate(n=Length("text")).values_list("n", flat=True)
        lengths = list(newest[:SAMPLE])
        known = (now, sum(lengths) // len(lengths) if lengths else USUAL_LETTERS)
        _lengths[user.pk] = known
    return known[1]
