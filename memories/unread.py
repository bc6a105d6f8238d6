"""How much waits to be read, for pages that ask often: only chats that changed are counted again.

The exact count is kept with the watermark (branches, deletions). A chat that was never read, or that changed since,
is counted below its watermark, and that count is remembered in this process. What a branch shares with its parent is
counted with the parent: it is read once. A group's chat is counted for each member.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, IntegerField, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce, Length

from accounts.models import User
from memories.members import rosters
from memories.models import Watermark
from memories.queries import READ_BY_MODEL
from sync.models import Character, Chat, Group, Message

BATCH = 500
MOST_REMEMBERED = 50_000
SAMPLE = 200  # messages that tell how long messages are
USUAL_LETTERS = 400
SHOWN = Q(role__in=READ_BY_MODEL) | Q(role=Message.Role.SYSTEM) & ~Q(name="")  # as queries.speaks_up
MARK = ("chat", "character", "index", "waiting", "counted_version")
NO_MARK = (-1, 0, -1)  # as MARK behind the ids: read up to, waiting, version that was counted
ASK_AGAIN = 300.0  # seconds

_lengths: dict[UUID, tuple[float, int]] = {}  # person: when asked, mean letters of a message
_remembered: dict[UUID, tuple[int, int, int]] = {}  # chat: version, read up to, count
_behind: dict[tuple[UUID, int], tuple[int, int]] = {}  # group's chat, read up to: version, count


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
    fields = ("pk", "version", "shared", "parent", "character")
    chats = list(rows.annotate(shared=_shared("")).values_list(*fields))
    counts = _counts(user, [one[:4] for one in chats])
    each = _usual_letters(user) if any(counts.values()) else 0
    return {one[0]: Unread(n, n * each, 1, one[4]) for one in chats if (n := counts.get(one[0]))}


def unread_by_character(user: User) -> dict[UUID, Unread]:
    """What waits, by character."""
    found: dict[UUID, Unread] = {}
    for part in unread_by_chat(user).values():
        if part.character_id is not None:
            whole = found.setdefault(part.character_id, Unread(character_id=part.character_id))
            whole.messages, whole.letters = whole.messages + part.messages, whole.letters + part.letters
            whole.chats += 1
    return found


def unread_by_group(user: User, group: Group | None = None) -> dict[UUID, Unread]:
    """What waits in the chats of each group, or of one: as much as the member has who is furthest behind."""
    found = _of_groups(user, _groups(user, group))
    most = {pk: max(members.values(), key=lambda one: one.messages) for pk, members in found.items() if members}
    return {pk: one for pk, one in most.items() if one.messages}


def unread_by_member(user: User, group: Group) -> dict[UUID, Unread]:
    """What waits in the chats of a group for each of its members that has something unread."""
    members = _of_groups(user, [group]).get(group.pk, {})
    return {pk: one for pk, one in members.items() if one.messages}


def unread_in(user: User, chats: Iterable[Chat], character: Character) -> dict[UUID, Unread]:
    """What waits for one character in these chats, which may be chats of its groups."""
    rows = list(Chat.objects.for_user(user).filter(pk__in=[one.pk for one in chats]).annotate(shared=_shared("")))
    counts = _behind_marks(user, [(chat, character.pk) for chat in rows])
    each = _usual_letters(user) if any(counts.values()) else 0
    return {chat: Unread(n, n * each, 1, character.pk) for (chat, _whose), n in counts.items() if n}


def unread_among(user: User, chats: Iterable[Chat], characters: Sequence[Character]) -> dict[tuple[UUID, UUID], int]:
    """Unread messages by (chat, character), for those that have some; the queries do not grow with the characters."""
    rows = list(Chat.objects.for_user(user).filter(pk__in=[one.pk for one in chats]).annotate(shared=_shared("")))
    counts = _behind_marks(user, [(chat, one.pk) for chat in rows for one in characters])
    return {pair: n for pair, n in counts.items() if n}


def _groups(user: User, group: Group | None) -> list[Group]:
    if group is not None:
        return [group]
    return list(Group.objects.for_user(user).filter(gone_at=None, tavern__unlinked_at=None))


def _of_groups(user: User, groups: list[Group]) -> dict[UUID, dict[UUID, Unread]]:
    """By group and member; six queries, and two more for chats that changed since they were counted."""
    rows = Chat.objects.for_user(user).filter(group__in=groups, gone_at=None, message_count__gt=0)
    chats = list(rows.annotate(shared=_shared("")))
    if not chats:
        return {}
    members = {pk: one.characters for pk, one in rosters(user, groups).items()}
    pairs = [(chat, one.pk) for chat in chats if chat.group_id for one in members.get(chat.group_id, ())]
    counts = _behind_marks(user, pairs)
    each = _usual_letters(user) if any(counts.values()) else 0
    found: dict[UUID, dict[UUID, Unread]] = {}
    for chat, character in pairs:
        whole = found.setdefault(chat.group_id, {}).setdefault(character, Unread(character_id=character))  # type: ignore[arg-type]
        if n := counts[chat.pk, character]:
            whole.messages, whole.letters, whole.chats = whole.messages + n, whole.letters + n * each, whole.chats + 1
    return found


def _behind_marks(user: User, pairs: Sequence[tuple[Any, UUID]]) -> dict[tuple[UUID, UUID], int]:
    """Unread messages by (chat, character); each chat comes with `shared`, as `_shared` says."""
    chats = {chat.pk: chat for chat, _whose in pairs}
    marks: dict[tuple[UUID, UUID], tuple[int, int, int]] = {}
    for part in parts(list({*chats, *(chat.parent_id for chat in chats.values() if chat.parent_id)})):
        rows = Watermark.objects.for_user(user).filter(chat__in=part)
        marks.update({row[:2]: row[2:] for row in rows.values_list(*MARK)})
    counts: dict[tuple[UUID, UUID], int] = {}
    missing: dict[tuple[UUID, UUID], int] = {}
    for chat, whose in pairs:
        index, waiting, counted = marks.get((chat.pk, whose), NO_MARK)
        begin = max(index, chat.shared)
        known = _behind.get((chat.pk, begin))
        of_parent = marks.get((chat.parent_id, whose), NO_MARK)
        if counted == chat.version and not _waits_with_parent(index, chat.shared, of_parent[0]):
            counts[chat.pk, whose] = waiting
        elif known is not None and known[0] == chat.version:
            counts[chat.pk, whose] = known[1]
        else:
            missing[chat.pk, whose] = begin
    numbers = _numbers(user, {chat for chat, _whose in missing})
    for (chat_id, whose), begin in missing.items():
        speaking = numbers.get(chat_id, [])
        count = len(speaking) - bisect_right(speaking, begin)
        counts[chat_id, whose] = count
        if len(_behind) >= MOST_REMEMBERED:
            _behind.clear()
        _behind[chat_id, begin] = (chats[chat_id].version, count)
    return counts


def _numbers(user: User, chats: Iterable[UUID]) -> dict[UUID, list[int]]:
    """The numbers of the messages that the model would be shown, in order, by chat."""
    found: dict[UUID, list[int]] = {}
    for part in parts(list(chats)):
        rows = Message.objects.for_user(user).filter(SHOWN, chat__in=part).order_by("chat", "index")
        for chat, index in rows.values_list("chat", "index"):
            found.setdefault(chat, []).append(index)
    return found


def parts(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """As many ids at a time as one query takes."""
    yield from (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


def _shared(chat: str) -> Case:
    """The last message number that a chat has in common with a parent that is still there; -1 without one."""
    here = {f"{chat}parent__isnull": False, f"{chat}parent__gone_at": None}
    return Case(When(**here, then=Coalesce(F(f"{chat}fork_index"), -1)), default=-1, output_field=IntegerField())


def _waits_with_parent(index: int, shared: int, parent_index: int) -> bool:
    """Whether messages that a branch has in common with its parent are unread in both: they are counted there."""
    return max(index, parent_index) < shared


def _counts(user: User, chats: list[tuple[UUID, int, int, UUID | None]]) -> dict[UUID, int]:
    """`chats`: id, version, last message number shared with the parent, and the parent."""
    rows = Watermark.objects.for_user(user).filter(character=F("chat__character"))
    marks: dict[UUID | None, tuple[int, int, int]] = {
        row[0]: row[1:] for row in rows.values_list("chat", "index", "waiting", "counted_version")
    }
    counts: dict[UUID, int] = {}
    missing: dict[UUID, tuple[int, int]] = {}
    for pk, version, shared, parent in chats:
        index, waiting, counted = marks.get(pk, NO_MARK)
        begin = max(index, shared)
        known = _remembered.get(pk)
        if counted == version and not _waits_with_parent(index, shared, marks.get(parent, NO_MARK)[0]):
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
    for batch in parts(chats):
        rows = Message.objects.for_user(user).filter(chat__in=batch)
        unread = rows.filter(SHOWN).annotate(
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
