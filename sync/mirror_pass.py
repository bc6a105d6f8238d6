"""What the steps of one pass share: the folder, what changed, the issues found, and how far it got."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from sync.mirror_issues import Issues
from sync.mirror_scan import Facts, Scan, no_permission
from sync.models import ScannedFile, Tavern
from sync.tavern.folder import Folder, NotRegular, Seen
from sync.tavern.paths import PathRefused
from sync.tavern.problem import Problem
from sync.tavern.settings_file import TavernSettings

BATCH = 500


class Interrupted(Exception):
    """The pass was asked to stop; what it wrote so far stays and is not done again."""


@dataclass
class PassReport:
    """What one pass did. `finished` is False when it was interrupted and should be continued."""

    finished: bool = True
    changed: bool = False
    state: str = ""
    reason: str = ""
    files_read: int = 0
    characters: int = 0
    chats: list[UUID] = field(default_factory=list)
    messages_written: int = 0
    gone: int = 0
    renamed: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Pass:
    """One pass over one tavern."""

    tavern: Tavern
    folder: Folder
    scan: Scan
    known: dict[str, Facts]
    note: Callable[..., None]
    should_stop: Callable[[], bool]
    issues: Issues
    report: PassReport = field(default_factory=PassReport)
    settings: TavernSettings | None = None
    new_characters: set[UUID] = field(default_factory=set)
    _done: dict[str, Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        files = self.scan.files
        self.changed = {path for path, facts in files.items() if self.known.get(path) != facts}
        self.changed -= self.scan.aside.keys()
        self.vanished = {path for path in self.known if path not in files and not self.scan.is_closed(path)}

    def in_folder(self, prefix: str) -> list[str]:
        """Changed files below a folder, in a steady order."""
        return sorted(path for path in self.changed if path.startswith(prefix))

    def read(self, path: str, kept: str, most: int = 64 * 1024 * 1024) -> bytes | None:
        """The bytes of a file, or None with an issue that says why not and what was `kept`."""
        try:
            data = self.folder.read(path, most)
        except (OSError, PathRefused) as error:
            self.refuse(path, error, kept)
            return None
        self.report.files_read += 1
        return data

    def refuse(self, path: str, error: Exception, kept: str) -> None:
        """Report a file that could not be opened. One without permission is tried again at every pass."""
        problem = refusal(self.folder, path, error)
        if problem is None:
            return
        self.issues.put(path, [Problem(problem.code, problem.text, kept)])
        if problem.code not in {"no-permission", "unreadable"}:
            self.done(path)

    def done(self, path: str, seen: Seen | None = None) -> None:
        """This file needs no more reading until it changes."""
        facts = tuple(seen) if seen else self.scan.files.get(path)
        if facts:
            self._done[path] = facts  # type: ignore[assignment]
        if len(self._done) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write down which files were read."""
        rows = [_scanned(self.tavern, path, facts) for path, facts in self._done.items()]
        self._done = {}
        if rows:
            with transaction.atomic():
                ScannedFile.objects.bulk_create(
                    rows,
                    update_conflicts=True,
                    unique_fields=["tavern", "path"],
                    update_fields=["size", "mtime_ns", "inode"],
                )

    def forget(self, paths: Iterable[str]) -> None:
        """These files are no longer there."""
        listed = sorted(paths)
        for start in range(0, len(listed), BATCH):
            part = listed[start : start + BATCH]
            self.tavern.scanned_files.filter(path__in=part).delete()
            for path in part:
                self.issues.put(path, [])

    def report_aside(self) -> None:
        """Say what was found that is never opened."""
        for path, problem in self.scan.aside.items():
            if self.known.get(path) != self.scan.files[path]:
                self.issues.put(path, [problem])
                self.done(path)

    def check(self) -> None:
        """Stop here when asked to."""
        if self.should_stop():
            raise Interrupted


def refusal(folder: Folder, path: str, error: Exception) -> Problem | None:
    """What keeps a file from being opened, in words; None when it is simply gone."""
    if isinstance(error, FileNotFoundError):
        return None
    if isinstance(error, NotRegular):
        return Problem("not-a-file", "This is not a regular file.")
    if isinstance(error, PathRefused):
        return Problem("refused", str(error))
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return Problem("too-large", "This file is too large to be read.")
    if isinstance(error, PermissionError):
        return no_permission(folder, path)
    return Problem("unreadable", "The disk refuses to read this file.")


def batches(rows: list[Any], size: int = BATCH) -> Iterable[list[Any]]:
    """Lists of at most `size`; between two of them other writers get their turn."""
    for start in range(0, len(rows), size):
        if start:
            time.sleep(0)
        yield rows[start : start + size]


def _scanned(tavern: Tavern, path: str, facts: Facts) -> ScannedFile:
    return ScannedFile(tavern=tavern, path=path, size=facts[0], mtime_ns=facts[1], inode=facts[2])
