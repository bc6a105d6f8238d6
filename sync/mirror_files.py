"""The Data Bank's files on disk: present or missing, what their bytes are, and memory files somebody else changed."""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256
from uuid import UUID

from sync.events import DatabankText, databank_text_found
from sync.mirror_pass import Pass
from sync.models import Attachment
from sync.tavern.paths import PathRefused, file_of_url
from sync.tavern.problem import Problem
from sync.tavern.text import clean

PREFIX = "user/files/"
MEMORIES = "-memories.md"
MOST_TEXT = 16 * 1024 * 1024
MISSING = Problem(
    "missing-file",
    "The Data Bank lists this file, but it is not there.",
    "Nothing was lost here; SillyTavern leaves out the whole Data Bank until the entry is removed.",
)


def mirror_files(one: Pass, touched: set[UUID]) -> None:
    """Look at the files of attachments whose entry or bytes changed. Files nobody registered are not opened."""
    moved = {path for path in one.changed | one.vanished if path.startswith(PREFIX)}
    one.forget(moved & one.vanished)
    by_path: defaultdict[str, list[Attachment]] = defaultdict(list)
    for row in one.tavern.attachments.all():
        try:
            by_path[file_of_url(row.url)].append(row)
        except PathRefused:
            if row.pk in touched:
                one.issues.put(f"settings.json: {row.name}", [_odd_url()])
    for path, rows in by_path.items():
        is_there = path in one.scan.files
        if path in moved or any(row.pk in touched or row.file_present != is_there for row in rows):
            one.check()
            _look(one, path, rows)
    for path in moved & one.changed:
        one.done(path)


def _look(one: Pass, path: str, rows: list[Attachment]) -> None:
    if path not in one.scan.files:
        is_missed = any(row.is_registered and row.gone_at is None for row in rows)
        one.issues.put(path, [MISSING] if is_missed else [])
        _store(rows, present=False, digest="")
        return
    wants_text = any(row.is_ours or row.name.endswith(MEMORIES) for row in rows)
    known = dict(one.tavern.attachments.filter(pk__in=[row.pk for row in rows]).values_list("pk", "written_hash"))
    digest, data = _digest(one, path, keep=wants_text)
    if digest is None:
        return
    one.issues.put(path, [])
    _store(rows, present=True, digest=digest)
    if data is not None:
        for row in rows:
            _announce(one, row, digest, data, known.get(row.pk, ""))


def _digest(one: Pass, path: str, *, keep: bool) -> tuple[str | None, bytes | None]:
    """sha256 of a file read in pieces, and its bytes when they are wanted and not too many."""
    total = sha256()
    pieces: list[bytes] = []
    size = 0
    try:
        with one.folder.open(path) as file:
            while piece := file.read(1024 * 1024):
                total.update(piece)
                size += len(piece)
                if keep and size <= MOST_TEXT:
                    pieces.append(piece)
    except (OSError, PathRefused) as error:
        one.refuse(path, error, "Nothing was changed.")
        return None, None
    one.report.files_read += 1
    return total.hexdigest(), b"".join(pieces) if keep and size <= MOST_TEXT else None


def _announce(one: Pass, row: Attachment, digest: str, data: bytes, known: str) -> None:
    """Send the text of a memory file whose bytes we did not write; `known` was `written_hash` before it was read."""
    if row.gone_at is not None or not (row.is_ours or (row.name.endswith(MEMORIES) and not _is_pasted(one, row))):
        return
    if digest != known:
        text = clean(data.decode("utf-8", "replace")).removeprefix("\ufeff")
        databank_text_found.send(DatabankText(row.pk, text, row.is_ours, one.tavern.compare_only, known))


def _is_pasted(one: Pass, row: Attachment) -> bool:
    """Whether a file of ours waits for just this entry (sync/databank.py takes it over after the pass)."""
    place = {"scope": row.scope, "avatar": row.avatar, "chat": row.chat_id}
    return one.tavern.attachments.filter(is_ours=True, is_registered=False, name=row.name, **place).exists()


def _store(rows: list[Attachment], *, present: bool, digest: str) -> None:
    for row in rows:
        if (row.file_present, row.file_hash) != (present, digest):
            row.file_present, row.file_hash = present, digest
            row.save(update_fields=["file_present", "file_hash"])


def _odd_url() -> Problem:
    return Problem("odd-url", "This Data Bank entry points outside user/files.", "The entry was left alone.")
