"""Lorebooks that stand alone in `worlds/`. Those inside cards come with their character."""

from __future__ import annotations

from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from sync.mirror_pass import Pass, batches
from sync.models import Lorebook, LorebookEntry
from sync.tavern.problem import Problem
from sync.tavern.worlds import Entry, WorldError, read_world

PREFIX = "worlds/"
KEPT = "The lorebook as it was read before is kept."


def mirror_lorebooks(one: Pass) -> None:
    """Bring the lorebooks in step."""
    paths = one.in_folder(PREFIX)
    lost = [path for path in one.vanished if path.startswith(PREFIX)]
    if not paths and not lost:
        return
    rows = {row.path: row for row in one.tavern.lorebooks.filter(character=None)}
    for path in paths:
        one.check()
        _mirror_one(one, rows.get(path), path)
    for path in lost:
        if (row := rows.get(path)) and row.gone_at is None:
            row.gone_at = timezone.now()
            row.save(update_fields=["gone_at"])
            one.report.gone += 1


def replace_entries(book: Lorebook, entries: list[Entry]) -> None:
    """Make `entries` the entries of the book."""
    book.entries.all().delete()
    rows = [
        LorebookEntry(
            book=book,
            uid=entry.uid,
            title=entry.title,
            keys=entry.keys,
            secondary_keys=entry.secondary_keys,
            content=entry.content,
            is_enabled=entry.is_enabled,
            is_constant=entry.is_constant,
            order=entry.order,
        )
        for entry in entries
    ]
    for part in batches(rows):
        LorebookEntry.objects.bulk_create(part)


def _mirror_one(one: Pass, row: Lorebook | None, path: str) -> None:
    data = one.read(path, KEPT if row else "")
    if data is None:
        return
    try:
        entries = read_world(data)
    except WorldError as error:
        kept = KEPT if row else "It was left out; everything else was read."
        one.issues.put(path, [Problem("bad-lorebook", str(error), kept)])
        one.done(path)
        return
    if row is None:
        row = Lorebook(tavern=one.tavern, path=path, name=path.removeprefix(PREFIX)[: -len(".json")][:300])
    digest = sha256(data).hexdigest()
    with transaction.atomic():
        is_new = row.content_hash != digest
        row.content_hash, row.gone_at = digest, None
        row.save()
        if is_new:
            replace_entries(row, entries)
    one.issues.put(path, [])
    one.done(path)
