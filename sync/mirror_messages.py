"""Messages of one chat: first import in one stream, later only the rows that differ (architecture, rule 2).

A changed file is read once for its keys; lines that must be written are read again from their place. Texts are never
held together, so a chat of 100 MB costs no more memory than its keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import TypeVar

from django.db import transaction
from django.db.models import F

from sync import message_rows
from sync.mirror_pass import BATCH, batches
from sync.models import Chat, Message
from sync.tavern.align import Key, align
from sync.tavern.chats import ChatLine, ChatReader
from sync.tavern.dates import parse_date
from sync.tavern.identity import IdentityMaker
from sync.tavern.problem import Problem

MOST_TEXT = 4 * 1024 * 1024
FEW, MANY = 1, 4  # a chat of at least MANY messages that shrinks to at most FEW was damaged, not edited
TEXT = message_rows.FIELDS.index("text")
R = TypeVar("R")
FIELDS = [name for name in message_rows.FIELDS if name not in {"chat", "identity"}]


@dataclass
class Written:
    """What happened to the rows. `guarded`: the file lost nearly everything, so the rows were left alone."""

    changed: bool = False
    guarded: bool = False
    rows: int = 0
    digest: str = ""
    first_at: datetime | None = None
    last_at: datetime | None = None
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class _Place:
    """Where a line stands, and a mark over its small fields."""

    line: int
    offset: int
    length: int
    mark: int


@dataclass(slots=True)
class _Stored:
    """A stored row without its text."""

    pk: int
    index: int
    line: int
    mark: int
    identity: str


def write_messages(chat: Chat, reader: ChatReader, *, save: Callable[[], None], check: Callable[[], None]) -> Written:
    """Bring the rows of `chat` in step with the file. `save` stores the chat's row once its header is known."""
    keys, stored = _stored_keys(chat) if not chat._state.adding else ([], [])
    if stored:
        return _update(chat, reader, keys, stored, save, check)
    return _import(chat, reader, save, check)


def _import(chat: Chat, reader: ChatReader, save: Callable[[], None], check: Callable[[], None]) -> Written:
    written, digest, identity = Written(), blake2b(digest_size=16), IdentityMaker()
    values = message_rows.RowMaker(chat.pk)
    waiting: list[message_rows.Values] = []
    size = 0
    is_saved = False
    for line in reader.lines():
        if not is_saved:
            save()
            is_saved = True
        digest.update(line.content.encode())
        waiting.append(values(line, identity(line.role, line.raw_date)))
        written.first_at = written.first_at or line.sent_at
        written.last_at = line.sent_at or written.last_at
        size += len(line.text)
        if len(waiting) >= BATCH or size > MOST_TEXT:
            check()
            written.rows += message_rows.insert(waiting)
            waiting, size = [], 0
    if not is_saved:
        save()
    written.rows += message_rows.insert(waiting)
    written.digest, written.changed = digest.hexdigest(), written.rows > 0
    return written


def _update(
    chat: Chat,
    reader: ChatReader,
    old: list[Key],
    stored: list[_Stored],
    save: Callable[[], None],
    check: Callable[[], None],
) -> Written:
    digest = blake2b(digest_size=16)
    new: list[Key] = []
    places: list[_Place] = []
    for line in reader.lines():
        new.append(line.key())
        places.append(_Place(line.line, line.offset, line.length, hash(line.details())))
        digest.update(line.content.encode())
    if (len(new) <= FEW and len(stored) >= MANY) or not new:
        reader.problems.clear()
        return _guard(len(new), len(stored), is_empty=reader.is_empty)

    def again(place: int) -> ChatLine:
        at = places[place]
        return reader.again(at.line, place, at.offset, at.length)

    def continues(before: int, after: int) -> bool:
        text = Message.objects.filter(pk=stored[before].pk).values_list("text", flat=True).first()
        return bool(text) and again(after).text.startswith(str(text))

    rows = align(old, new, continues)
    written = Written(digest=digest.hexdigest(), first_at=_first_date(new), last_at=_first_date(reversed(new)))
    is_small = len(stored) - len(new) + 2 * rows.count(None) <= BATCH and len(stored) <= 20 * BATCH
    # The chat's version moves with its first row, so that nobody takes what was counted before for current.
    chat.version += len(old) != len(new) or any(map(_differs, old, new))
    with transaction.atomic() if is_small else nullcontext():
        save()
        written.rows += _take_away(chat, stored, rows)
        written.rows += _shift(stored, places, rows)
        written.rows += _rewrite(chat, old, new, stored, places, rows, again, check)
        written.rows += _add(chat, new, stored, rows, again, check)
    written.changed = written.rows > 0
    return written


def _guard(now: int, before: int, *, is_empty: bool) -> Written:
    """The file lost its messages (a known fault of SillyTavern's, spec/problem-reports D3): keep the rows."""
    what = "nothing" if is_empty else "only its first line" if not now else "only one message"
    text = f"This chat had {before} messages and now holds {what}."
    kept = f"All {before} messages are kept here. SillyTavern's own copies are in its folder backups."
    return Written(guarded=True, problems=[Problem("shrunk", text, kept)])


def _stored_keys(chat: Chat) -> tuple[list[Key], list[_Stored]]:
    keys: list[Key] = []
    stored: list[_Stored] = []
    rows = chat.messages.order_by("index").values_list(
        "pk", "index", "line", "identity", "role", "raw_date", "content",
        "name", "is_hidden", "is_tagged", "sender_avatar", "swipe", "swipe_count",
    )  # fmt: skip
    for pk, index, line, identity, role, raw_date, content, *details in rows.iterator(chunk_size=2000):
        keys.append(Key(role, raw_date, content))
        stored.append(_Stored(pk, index, line, hash(tuple(details)), identity))
    return keys, stored


def _take_away(chat: Chat, stored: list[_Stored], rows: list[int | None]) -> int:
    kept = {row for row in rows if row is not None}
    gone = [row.pk for place, row in enumerate(stored) if place not in kept]
    for part in batches(gone):
        chat.messages.filter(pk__in=part).delete()
    return len(gone)


def _shift(stored: list[_Stored], places: list[_Place], rows: list[int | None]) -> int:
    """Renumber rows that only moved: one statement for each stretch that moved equally far."""
    moves: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row is not None:
            by = (place - stored[row].index, places[place].line - stored[row].line)
            if by != (0, 0):
                moves[by].append(stored[row].pk)
    for (by_index, by_line), pks in moves.items():
        for part in batches(pks):
            Message.objects.filter(pk__in=part).update(index=F("index") + by_index, line=F("line") + by_line)
    return sum(len(pks) for (by_index, _by_line), pks in moves.items() if by_index)


def _rewrite(
    chat: Chat,
    old: list[Key],
    new: list[Key],
    stored: list[_Stored],
    places: list[_Place],
    rows: list[int | None],
    again: Callable[[int], ChatLine],
    check: Callable[[], None],
) -> int:
    """Write rows whose text or small fields changed; their identity stays."""
    changed = [
        (place, row)
        for place, row in enumerate(rows)
        if row is not None and (_differs(old[row], new[place]) or stored[row].mark != places[place].mark)
    ]

    def made() -> Iterable[Message]:
        for place, row in changed:
            yield message_rows.message(chat.pk, again(place), stored[row].identity, stored[row].pk)

    for part in _parts(made(), lambda message: len(message.text)):
        check()
        with transaction.atomic():
            Message.objects.bulk_update(part, FIELDS, batch_size=50)
    return len(changed)


def _add(
    chat: Chat,
    new: list[Key],
    stored: list[_Stored],
    rows: list[int | None],
    again: Callable[[int], ChatLine],
    check: Callable[[], None],
) -> int:
    identity = IdentityMaker(stored[row].identity for row in rows if row is not None)
    values = message_rows.RowMaker(chat.pk)
    made = (
        values(again(place), identity(new[place].role, new[place].raw_date))
        for place, row in enumerate(rows)
        if row is None
    )
    count = 0
    for part in _parts(made, lambda row: len(row[TEXT])):
        check()
        count += message_rows.insert(part)
    return count


def _first_date(keys: Iterable[Key]) -> datetime | None:
    return next((moment for key in keys if (moment := parse_date(key.raw_date))), None)


def _differs(stored: Key, line: Key) -> bool:
    return (stored.role, stored.raw_date, stored.content) != (line.role, line.raw_date, line.content)


def _parts(rows: Iterable[R], size_of: Callable[[R], int]) -> Iterable[list[R]]:
    """Lists of rows, small in number and in text."""
    part: list[R] = []
    size = 0
    for row in rows:
        part.append(row)
        size += size_of(row)
        if len(part) >= BATCH or size > MOST_TEXT:
            yield part
            part, size = [], 0
    if part:
        yield part
