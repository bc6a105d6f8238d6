"""Keeping the index in step: every ten seconds a cheap look at versions, then only rows that differ are read again.

Each batch is one short transaction and a look takes a few seconds at most; a long one goes on where it stopped. What a
person deleted, forgot or no longer owns leaves the index the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F

from accounts.ownership import unscoped
from jobs.stopping import is_stopping
from search import engines
from search.models import SearchContainer, SearchEntry
from search.registry import Container, Row, SearchKind, kinds
from search.scope import container_scope, of_chat, of_time
from search.tokens import index_text

EVERY = 10.0
SLICE = 6.0  # seconds of one look
BATCH = 500
T = TypeVar("T")


def tick() -> None:
    """What the clock calls."""
    step()


def step(seconds: float = SLICE) -> bool:
    """One look at everything; False when time was up before the index was in step."""
    if not _is_ready():
        return True
    until = time.monotonic() + seconds

    def is_over() -> bool:
        return time.monotonic() > until or is_stopping()

    with unscoped("the index follows everybody's rows"):
        for kind in kinds.values():
            _note_versions(kind)
        return all(_bring_in_step(kinds[row.kind], row, is_over) for row in _behind())


def forget(kind: str, key: str) -> None:
    """Take one container's rows out at once, not at the next look. Call it after they were deleted."""
    with unscoped("rows that were deleted leave the index"):
        for row in SearchContainer.objects.filter(kind=kind, key=key):
            _remove(row)
    engines.scrub()


def forget_all_of(owner_id: UUID) -> None:
    """Take everything of one person out of the index at once."""
    with unscoped("a person's rows leave the index"):
        for row in SearchContainer.objects.filter(owner=owner_id):
            _remove(row)
    engines.scrub()


def empty() -> None:
    """Take everything out; the next looks fill the index again."""
    with unscoped("the index is made anew"), engines.suspended():
        for model in (SearchEntry, SearchContainer):
            model._base_manager.all()._raw_delete(using="default")


def _is_ready() -> bool:
    if not engines.has_full_text():
        return False
    if not engines.is_there():
        engines.create()
    return True


def _behind() -> Iterator[SearchContainer]:
    """What the index is behind with, quiet kinds and old containers first: the newest entries are the newest rows."""
    order = {name: number for number, name in enumerate(kinds)}
    rows = list(SearchContainer.objects.filter(kind__in=order).exclude(version=F("wanted")))
    far_off = min((row.last_at.timestamp() for row in rows if row.last_at), default=0.0)
    rows.sort(key=lambda row: (order[row.kind], row.last_at.timestamp() if row.last_at else far_off))
    yield from rows


def _note_versions(kind: SearchKind) -> None:
    """Write down what containers there are and in which version."""
    known = {row.key: row for row in SearchContainer.objects.filter(kind=kind.name)}
    new: list[SearchContainer] = []
    changed: list[SearchContainer] = []
    for container in kind.containers():
        row = known.pop(container.key, None)
        if row is None:
            new.append(_noted(SearchContainer(kind=kind.name, key=container.key), container))
        elif row.wanted != _version(container):
            changed.append(_noted(row, container))
    for batch in _batches(new):
        SearchContainer.objects.bulk_create(batch, ignore_conflicts=True)
    for batch in _batches(changed):
        SearchContainer.objects.bulk_update(batch, ["wanted", "character", "chat", "last_at"], batch_size=100)
    for row in known.values():
        _remove(row)


def _noted(row: SearchContainer, container: Container) -> SearchContainer:
    row.owner_id, row.wanted = container.owner, _version(container)
    row.character, row.chat, row.last_at = container.character, container.chat, container.at
    return row


def _version(container: Container) -> str:
    """What it holds and where it belongs."""
    place = blake2b(f"{container.character} {container.chat}".encode(), digest_size=4).hexdigest()
    return f"{container.version} {place}"[-100:]


def _bring_in_step(kind: SearchKind, row: SearchContainer, is_over: Callable[[], bool]) -> bool:
    """Make the entries of one container equal to its rows; False when time was up before."""
    scope = container_scope(row.owner_id, kind.name, row.character, row.chat)
    stored = {key: (pk, mark) for pk, key, mark in row.entries.values_list("pk", "key", "mark")}
    marks = {key: _digest(mark, scope) for key, mark in kind.marks(row.key)}
    try:
        for gone in _batches(pk for key, (pk, _mark) in stored.items() if key not in marks):
            if is_over():
                return False
            SearchEntry.objects.filter(pk__in=gone).delete()
        for batch in _batches(key for key, mark in marks.items() if key not in stored or stored[key][1] != mark):
            if is_over():
                return False
            _write(row, scope, kind.rows(row.key, batch), marks, stored)
        SearchContainer.objects.filter(pk=row.pk).update(version=row.wanted, entries_held=len(marks))
    except IntegrityError:  # its owner was removed meanwhile
        return True
    return True


def _write(
    container: SearchContainer,
    scope: str,
    rows: Iterable[Row],
    marks: dict[str, str],
    stored: dict[str, tuple[int, str]],
) -> None:
    new, changed = [], []
    for row in rows:
        entry = SearchEntry(container=container, key=row.key, at=row.at, mark=marks[row.key])
        entry.words = index_text(row.text)
        own = [of_chat(row.chat)] if row.chat else []
        entry.scope = " ".join([scope, *own, *([of_time(row.at)] if row.at else [])])
        if row.key in stored:
            entry.pk = stored[row.key][0]
            changed.append(entry)
        else:
            new.append(entry)
    with transaction.atomic():
        SearchEntry.objects.bulk_create(new)
        SearchEntry.objects.bulk_update(changed, ["at", "mark", "words", "scope"], batch_size=100)


def _digest(mark: str, scope: str) -> str:
    return blake2b(f"{mark} {scope}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _remove(row: SearchContainer) -> None:
    for batch in _batches(list(row.entries.values_list("pk", flat=True))):
        SearchEntry.objects.filter(pk__in=batch).delete()
    row.delete()


def _batches(things: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(things)
    while batch := list(islice(rest, BATCH)):
        yield batch
