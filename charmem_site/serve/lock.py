"""One process with the right to run on a data folder: a locked file that names it. The lock dies with its holder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

NAME = "serve.lock"


class AlreadyRunning(Exception):
    """Another supervisor, or a restore, holds this data folder; the message is a finished sentence."""


class DataFolderLock:
    """`with DataFolderLock(data_dir):` holds the folder; raises AlreadyRunning. Not inherited by children."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._file: IO[str] | None = None

    def __enter__(self) -> DataFolderLock:
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (self._data_dir / NAME).open("a+", encoding="utf-8")
        if not _try_lock(file):
            file.close()
            raise AlreadyRunning(f"CharMem already runs on {self._data_dir} as process {_pid_in(self._data_dir)}.")
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def holder(data_dir: Path) -> int | None:
    """The process id of whoever runs on this data folder, None when nobody does."""
    path = data_dir / NAME
    if not path.exists():
        return None
    with path.open("a+", encoding="utf-8") as file:
        return None if _try_lock(file) else _pid_in(data_dir)


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _pid_in(data_dir: Path) -> int:
    try:
        return int((data_dir / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
