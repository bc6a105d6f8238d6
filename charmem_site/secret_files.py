"""Secrets that the product makes for itself on first use, each in a file of mode 0600 in the data folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """Return the text of `path`; write `make()` first when the file does not exist. Two starters agree on one value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="utf-8").strip()
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(make())
    return path.read_text(encoding="utf-8").strip()
