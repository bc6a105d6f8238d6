"""Rotation of the vault key (stack-notes §9.8).

    add a new first key to the file ──▶ re-seal every row ──▶ look again until nothing is left ──▶ drop the old

Killed at any point, both old and new key are in the file, every secret opens, and running it again finishes the work.
A key that comes from the environment is not ours to write: there the person puts the new key in front and this
re-seals with it.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import models

from accounts.ownership import unscoped
from providers import vault
from providers.file_lock import try_lock

MOST_PASSES = 5


class RotationFailed(Exception):
    """Nothing is lost: all keys are still there. The message says what was in the way."""


@dataclass
class Report:
    """How many secrets were sealed anew, how many opened with no key, and how many keys were dropped."""

    resealed: int = 0
    unreadable: int = 0
    dropped: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def rotate() -> Report:
    """Do it all. Safe while the product runs: every process reads the key file again when it changes."""
    lock = try_lock(Path(settings.DATA_DIR) / "vault-rotation.lock")
    if lock is None:
        raise RotationFailed("Another rotate_vault is running; nothing was changed.")
    with lock:
        return _rotate()


def _rotate() -> Report:
    report = Report()
    keys = vault.current_keys()
    if settings.VAULT_KEY_IN_FILE:
        keys = [Fernet.generate_key().decode(), *keys]
        write_keys(keys)
    for _pass in range(MOST_PASSES):
        report.unreadable = 0
        if not _reseal_all(keys, report):
            break
    else:
        raise RotationFailed("Secrets kept being sealed with an old key; all keys are kept. Run rotate_vault again.")
    if settings.VAULT_KEY_IN_FILE and not report.unreadable:
        report.dropped = len(keys) - 1
        write_keys(keys[:1])
    return report


def write_keys(keys: list[str]) -> None:
    """Replace the vault file in one step, durable before it counts."""
    path = Path(settings.VAULT_KEY_FILE)
    draft = path.with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(keys))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _reseal_all(keys: list[str], report: Report) -> int:
    """One pass over every sealed column; how many values were changed."""
    changed = 0
    with unscoped("the vault key is changed for everybody"):
        for label, fields in vault.sealed_fields.items():
            model = apps.get_model(label)
            for field in fields:
                changed += _reseal(model, field, keys, report)
    report.resealed += changed
    return changed


def _reseal(model: type[models.Model], field: str, keys: list[str], report: Report) -> int:
    newest, everything = Fernet(keys[0]), vault.fernet(keys)
    changed = 0
    rows = model._default_manager.exclude(**{field: ""}).order_by("pk").values_list("pk", field)
    for pk, sealed in list(rows):
        if _opens(newest, sealed):
            continue
        try:
            fresh = everything.rotate(sealed.encode()).decode()
        except InvalidToken:
            report.unreadable += 1
            continue
        changed += model._default_manager.filter(**{"pk": pk, field: sealed}).update(**{field: fresh})
    return changed


def _opens(key: Fernet, sealed: str) -> bool:
    try:
        key.decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
