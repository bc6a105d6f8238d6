"""The one-time link that makes the first admin: dead after 30 minutes, after use, or once somebody exists.

The file holds a hash and an end; who reads the data folder later cannot open the link with it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from accounts.models import User

LIFETIME = 30 * 60


def setup_link(base: str = "") -> str | None:
    """A fresh link (the one before is dead), or None when an account exists. `base` is "http://host:port"."""
    if User.objects.exists():
        return None
    token = secrets.token_urlsafe(24)
    _write({"hash": _hash(token), "expires": time.time() + LIFETIME})
    base = base or settings.SITE_URL or f"http://{reachable(settings.BIND)}"
    return f"{base.rstrip('/')}{reverse('accounts:setup')}?token={token}"


def is_open(token: str) -> bool:
    """Whether this token may make the first account now."""
    note = _read()
    if not token or note is None or User.objects.exists():
        return False
    return hmac.compare_digest(str(note["hash"]), _hash(token)) and time.time() < float(note["expires"])


def create_first_admin(token: str, username: str, password: str, **fields: object) -> User | None:
    """The first account, an admin; None when the token is dead or somebody was quicker. Uses the token up."""
    if not is_open(token) or not _take():
        return None
    with transaction.atomic():
        if User.objects.exists():
            return None
        return User.objects.create_person(username, password, role=User.Role.ADMIN, **fields)


def reachable(bind: str) -> str:
    """An address to open for one to listen on: "every interface" is none that a browser can go to."""
    for everywhere in ("0.0.0.0:", "[::]:"):
        if bind.startswith(everywhere):
            return "127.0.0.1:" + bind.removeprefix(everywhere)
    return bind


def _file() -> Path:
    return Path(settings.DATA_DIR) / "setup-token"


def _write(note: dict[str, object]) -> None:
    path = _file()
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(note, file)
    fresh.replace(path)


def _read() -> dict[str, Any] | None:
    try:
        note = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) and {"hash", "expires"} <= note.keys() else None


def _take() -> bool:
    """Remove the file: of two who try at the same moment one succeeds."""
    try:
        _file().unlink()
    except FileNotFoundError:
        return False
    return True


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
