"""Putting a backup back: check everything first, keep the old state aside, then replace in one transaction."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.ownership import unscoped
from charmem_site.backup import tables
from charmem_site.backup.archive import (
    FOLDERS,
    FORMAT,
    KEY_FILES,
    MANIFEST,
    BackupError,
    _migrations,
    table_name,
    write,
)
from jobs.models import Job, Turn
from memories.models import ChatActivity
from sync.models import Tavern

MAX_MANIFEST = 8 * 1024 * 1024
STILL_THERE = datetime.timedelta(seconds=40)  # the clock ticks every 15 seconds, a running chunk every 10


@dataclass(frozen=True)
class Restored:
    """What was put back, and where the state before lies."""

    rows: int
    files: int
    made_at: str
    kept_aside: Path


def restore(path: Path) -> Restored:
    """Replace everything by the backup in `path`. Nothing changes unless the whole file checks out."""
    _refuse_beside_workers()
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise BackupError(f"There is no file {path}. Nothing was changed.") from error
    except (OSError, zipfile.BadZipFile) as error:
        raise BackupError(f"{path} is not a backup of CharMem: {error}. Nothing was changed.") from error
    with archive:
        manifest = _checked_manifest(archive, path)
        _check_contents(archive, manifest)
        aside = _keep_aside()
        incoming = _unpacked(archive, manifest, aside / "incoming")
        try:
            rows = _replace_rows(archive, manifest)
        except tables.RowError as error:
            raise BackupError(f"{path.name}: {error}. Nothing was changed.") from error
        _replace_files(incoming, manifest, aside)
    return Restored(rows, len(manifest["files"]), manifest["made_at"], aside)


def _refuse_beside_workers() -> None:
    """Parts that run without a supervisor hold no lock; the clock's last tick and running chunks give them away."""
    recently = timezone.now() - STILL_THERE
    has_ticked = settings.BROKER_URL and Turn.objects.filter(started_at__gt=recently).exists()
    with unscoped("a restore looks for anybody's running work"):
        is_at_work = Job.objects.filter(state=Job.State.RUNNING, heartbeat_at__gt=recently).exists()
    if has_ticked or is_at_work:
        raise BackupError(
            "Workers still run, or ran less than 40 seconds ago. Stop web, workers and beat first, then try again. "
            "Nothing was changed."
        )


def _checked_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    try:
        info = archive.getinfo(MANIFEST)
        if info.file_size > MAX_MANIFEST:
            raise ValueError("its manifest is too large")
        manifest: dict[str, Any] = json.loads(archive.read(info))
        known = {model._meta.label for model in tables.tables()}
        strange = sorted(set(manifest["tables"]) - known)
        missing = sorted(known - set(manifest["tables"]))
    except (KeyError, ValueError, TypeError) as error:
        raise BackupError(f"{path.name} is not a backup of CharMem: {error}. Nothing was changed.") from error
    if manifest["format"] != FORMAT:
        raise BackupError(f"{path.name} has format {manifest['format']}, this version reads {FORMAT}. Nothing changed.")
    if strange or missing or manifest["migrations"] != _migrations():
        raise BackupError(
            f"{path.name} was made by another version of CharMem (different tables). Nothing was changed: "
            "restore it with the version that made it, then update."
        )
    return manifest


def _check_contents(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    """Every listed part is there with its checksum; names that are not listed are never extracted."""
    for label, entry in manifest["tables"].items():
        _check_part(archive, table_name(label), entry["sha256"])
    for relative, digest in manifest["files"].items():
        if not _is_allowed(relative):
            raise BackupError(f"The backup lists a file outside the data folder: {relative}. Nothing was changed.")
        _check_part(archive, f"files/{relative}", digest)


def _check_part(archive: zipfile.ZipFile, name: str, expected: str) -> None:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as part:
            while block := part.read(1 << 20):
                digest.update(block)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise BackupError(f"The backup is damaged: {name} cannot be read. Nothing was changed.") from error
    if digest.hexdigest() != expected:
        raise BackupError(f"The backup is damaged: {name} does not match its checksum. Nothing was changed.")


def _is_allowed(relative: str) -> bool:
    parts = PurePosixPath(relative).parts
    if not parts or relative.startswith("/") or "\\" in relative or "\0" in relative or ".." in parts:
        return False
    return relative in KEY_FILES or parts[0] in FOLDERS


def _keep_aside() -> Path:
    stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%d-%H%M%S-%f")
    aside: Path = settings.DATA_DIR / "before-restore" / stamp
    aside.mkdir(parents=True, mode=0o700)
    write(aside / "charmem-before-restore.zip", with_keys=True)
    return aside


def _replace_rows(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> int:
    """One transaction: a reader sees the old state or the new one."""
    total = 0
    with transaction.atomic():
        tables.empty_all()
        for model in tables.tables():
            with archive.open(table_name(model._meta.label)) as lines:
                count = tables.load(model, lines)
            if count != manifest["tables"][model._meta.label]["rows"]:
                raise tables.RowError(f"{model._meta.label}: {count} rows instead of the listed number")
            total += count
        tables.reset_counters()
        _come_to_rest()
    return total


def _come_to_rest() -> None:
    """After a restore nothing runs or writes by itself; the first pass only compares (architecture, rule 11)."""
    with unscoped("a restore stops all work"):
        Tavern.objects.update(compare_only=True)
        ChatActivity.objects.update(new_at=None, look_at=None)
        now, error = timezone.now(), "Stopped because a backup was restored."
        free: dict[str, Any] = {"token": None, "lease_until": None, "worker": "", "is_held": False}
        stopped = {"state": Job.State.CANCELLED, "error": error, "cancel_requested": False, "finished_at": now}
        Job.objects.filter(state__in=Job.ACTIVE).update(**stopped, **free)


def _unpacked(archive: zipfile.ZipFile, manifest: dict[str, Any], incoming: Path) -> Path:
    """Write the files beside their places, so that a full disk is met before anything is replaced."""
    try:
        for relative in manifest["files"]:
            target = incoming / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as out, archive.open(f"files/{relative}") as part:
                shutil.copyfileobj(part, out)
    except OSError as error:
        shutil.rmtree(incoming, ignore_errors=True)
        raise BackupError(f"There is no room to unpack it: {error.strerror or error}. Nothing was changed.") from error
    return incoming


def _replace_files(incoming: Path, manifest: dict[str, Any], aside: Path) -> None:
    for folder in FOLDERS:
        if (settings.DATA_DIR / folder).exists():
            shutil.move(settings.DATA_DIR / folder, aside / folder)
    for relative in manifest["files"]:
        target: Path = settings.DATA_DIR / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        (incoming / relative).replace(target)
    shutil.rmtree(incoming, ignore_errors=True)
