"""One backup file: a zip with manifest.json, tables/<app>.<Model>.jsonl and files/<path in the data folder>."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from charmem_site.backup import tables

FORMAT = 1
FOLDERS = ("sample", "databank-copies")
KEY_FILES = ("vault-key", "secret-key")
MANIFEST = "manifest.json"


class BackupError(Exception):
    """A backup cannot be made or read; the message is a finished sentence."""


@dataclass(frozen=True)
class Backup:
    """A backup that was written: where, how large (bytes), how many rows and files."""

    path: Path
    size: int
    rows: int
    files: int


def write(path: Path, *, with_keys: bool = False) -> Backup:
    """Write a backup to `path`; the file appears complete or not at all."""
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as raw:
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
                with tables.snapshot():
                    table_list = {m._meta.label: _write_table(archive, m) for m in tables.tables()}
                    migrations = _migrations()
                file_list = dict(_write_files(archive, with_keys=with_keys))
                manifest = {
                    "format": FORMAT,
                    "made_at": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
                    "engine": connection.vendor,
                    "with_keys": with_keys,
                    "migrations": migrations,
                    "tables": table_list,
                    "files": file_list,
                }
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(path)
    except OSError as error:
        _remove(partial)
        raise BackupError(f"The backup could not be written to {path}: {error.strerror or error}.") from error
    except BaseException:
        _remove(partial)
        raise
    rows = sum(entry["rows"] for entry in table_list.values())
    return Backup(path, path.stat().st_size, rows, len(file_list))


def _remove(partial: Path) -> None:
    if partial.parent.is_dir():
        partial.unlink(missing_ok=True)


def _write_table(archive: zipfile.ZipFile, model: Any) -> dict[str, Any]:
    digest, count = hashlib.sha256(), 0
    with archive.open(table_name(model._meta.label), "w", force_zip64=True) as out:
        for line in tables.rows(model):
            out.write(line)
            digest.update(line)
            count += 1
    return {"rows": count, "sha256": digest.hexdigest()}


def _write_files(archive: zipfile.ZipFile, *, with_keys: bool) -> Iterator[tuple[str, str]]:
    for path in _kept_files(with_keys=with_keys):
        relative = path.relative_to(settings.DATA_DIR).as_posix()
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # a copy was rotated away while we walked
            continue
        archive.writestr(f"files/{relative}", data)
        yield relative, hashlib.sha256(data).hexdigest()


def _kept_files(*, with_keys: bool) -> Iterable[Path]:
    for folder in FOLDERS:
        for path in sorted((settings.DATA_DIR / folder).rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path
    if with_keys:
        yield from (settings.DATA_DIR / name for name in KEY_FILES if (settings.DATA_DIR / name).exists())


def _migrations() -> list[list[str]]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted([app, name] for app, name in applied if app in tables.APPS)


def table_name(label: str) -> str:
    """Name of a table inside the archive."""
    return f"tables/{label}.jsonl"
