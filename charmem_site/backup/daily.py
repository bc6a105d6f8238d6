"""One backup a day while the server runs; the newest seven are kept."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from accounts.models import User
from charmem_site.backup.archive import Backup, write

KEEP = 7
PATTERN = "charmem-*.zip"


@dataclass(frozen=True)
class Kept:
    """A backup that lies in the backup folder."""

    path: Path
    made_at: datetime.datetime
    size: int


def folder() -> Path:
    """Where backups are kept."""
    return Path(settings.DATA_DIR) / "backups"


def kept() -> list[Kept]:
    """The backups that exist, newest first; those from the future (the clock was wrong) count as the oldest."""
    now = datetime.datetime.now(tz=datetime.UTC)
    found = []
    for path in folder().glob(PATTERN):
        info = path.stat()
        found.append(Kept(path, datetime.datetime.fromtimestamp(info.st_mtime, tz=datetime.UTC), info.st_size))
    return sorted(found, key=lambda backup: (backup.made_at <= now, backup.made_at), reverse=True)


def default_path() -> Path:
    """Name of a backup made now."""
    stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d-%H%M%S")
    return folder() / f"charmem-{stamp}.zip"


def rotate(keep: int = KEEP) -> None:
    """Remove all but the newest `keep` backups."""
    for backup in kept()[keep:]:
        backup.path.unlink(missing_ok=True)


def backup_tick() -> None:
    """What the clock calls every quarter of an hour."""
    backup_if_due()


def backup_if_due() -> Backup | None:
    """Make a backup when the newest is a day old and there is anybody whose data could be lost."""
    newest = kept()[:1]
    now = datetime.datetime.now(tz=datetime.UTC)
    if newest and now - datetime.timedelta(days=1) < newest[0].made_at <= now:
        return None
    if not User.objects.exists():
        return None
    made = write(default_path())
    rotate()
    return made
