"""When the installation was last backed up: read from the folder, because backups are files and not rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True)
class Backup:
    """The newest backup file; `size` in bytes."""

    made_at: datetime
    size: int


def last_backup() -> Backup | None:
    """The newest file in the backups folder, or None."""
    folder = Path(settings.DATA_DIR) / "backups"
    if not folder.is_dir():
        return None
    found = [entry.stat() for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")]
    newest = max(found, key=lambda entry: entry.st_mtime, default=None)
    return Backup(datetime.fromtimestamp(newest.st_mtime, tz=UTC), newest.st_size) if newest else None
