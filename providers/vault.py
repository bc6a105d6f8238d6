"""Secrets at rest (stack-notes §9.8): sealed with the vault key, bound to their owner and row, never shown again.

A sealed value carries the ids inside, so a value copied into another person's row does not open there.
Apps that own sealed columns name them with `register_sealed` in `ready()`; rotate_vault re-seals all of them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

sealed_fields: dict[str, tuple[str, ...]] = {}
_file_cache: dict[Path, tuple[tuple[int, int], list[str]]] = {}
_file_lock = threading.Lock()


class VaultError(Exception):
    """A sealed value does not open: the vault key is another one, or the value belongs to another row."""


def register_sealed(model_label: str, *fields: str) -> None:
    """Make sealed columns known to rotate_vault, as in `register_sealed("providers.Connection", "key_sealed")`."""
    sealed_fields[model_label] = fields


def seal(text: str, *, owner_id: object, row_id: object) -> str:
    """`text` sealed for one row of one person; an empty text stays empty."""
    if not text:
        return ""
    payload = json.dumps({"owner": str(owner_id), "row": str(row_id), "text": text})
    return fernet().encrypt(payload.encode()).decode()


def unseal(sealed: str, *, owner_id: object, row_id: object) -> str:
    """The text that was sealed for this row; raises VaultError when it was not."""
    if not sealed:
        return ""
    try:
        payload = json.loads(fernet().decrypt(sealed.encode()))
    except (InvalidToken, ValueError) as error:
        raise VaultError("This secret was sealed with another vault key.") from error
    if payload.get("owner") != str(owner_id) or payload.get("row") != str(row_id):
        raise VaultError("This secret belongs to another row.")
    return str(payload["text"])


def hint_of(secret: str) -> str:
    """The last four characters behind an ellipsis; short secrets show nothing of themselves."""
    return f"…{secret[-4:]}" if len(secret) >= 12 else ("…" if secret else "")


def fernet(keys: Iterable[str] | None = None) -> MultiFernet:
    """Seals with the first key, opens with any."""
    return MultiFernet([Fernet(key) for key in (keys or current_keys())])


def current_keys() -> list[str]:
    """The vault's keys, newest first. The file is read again when it changed, so a rotation needs no restart."""
    path = Path(settings.VAULT_KEY_FILE)
    if not settings.VAULT_KEY_IN_FILE:
        return list(settings.VAULT_KEYS)
    try:
        stat = path.stat()
    except FileNotFoundError:
        return list(settings.VAULT_KEYS)
    stamp = (stat.st_mtime_ns, stat.st_ino)
    with _file_lock:
        cached = _file_cache.get(path)
        if cached is None or cached[0] != stamp:
            cached = _file_cache[path] = (stamp, path.read_text(encoding="utf-8").split())
        return list(cached[1])
