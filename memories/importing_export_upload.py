"""An uploaded export between its preview and its import: a file under a random name, for a day."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from accounts.models import User
from memories.importing_export_read import MAX_BYTES, BadExport

A_DAY = 24 * 3600
TOKEN = re.compile(r"[0-9a-f]{32}")


def keep(user: User, upload: UploadedFile) -> str:
    """Store it and return its token. BadExport when it is too big. Those of yesterday go."""
    if (upload.size or 0) > MAX_BYTES:
        raise BadExport("too-big")
    _drop_old()
    token = secrets.token_hex(16)
    path = _path(user, token)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("wb") as target:
        for piece in upload.chunks():
            target.write(piece)
    return token


def load(user: User, token: str) -> bytes | None:
    """Its bytes; None when it is not (or no longer) there."""
    if not TOKEN.fullmatch(token):
        return None
    try:
        return _path(user, token).read_bytes()
    except FileNotFoundError:
        return None


def drop(user: User, token: str) -> None:
    """Forget it."""
    if TOKEN.fullmatch(token):
        _path(user, token).unlink(missing_ok=True)


def drop_all(user: User) -> None:
    """Forget all that this person uploaded."""
    for path in (Path(settings.DATA_DIR) / "imports").glob(f"{user.pk}-*.json"):
        path.unlink(missing_ok=True)


def _path(user: User, token: str) -> Path:
    return Path(settings.DATA_DIR) / "imports" / f"{user.pk}-{token}.json"


def _drop_old() -> None:
    folder = Path(settings.DATA_DIR) / "imports"
    for path in folder.glob("*.json") if folder.is_dir() else ():
        try:
            if time.time() - path.stat().st_mtime > A_DAY:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
