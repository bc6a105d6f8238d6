"""A log file that starts over at a size and keeps two older ones."""

from __future__ import annotations

import threading
from pathlib import Path

LIMIT_BYTES = 5 * 1024 * 1024
KEPT = 2


class LogFile:
    """Append lines to `path`; at 5 MB it becomes `path.1`, and `path.1` becomes `path.2`."""

    def __init__(self, path: Path, limit: int = LIMIT_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._limit = path, limit
        self._lock = threading.Lock()
        self._file = path.open("ab")

    def write(self, line: bytes) -> None:
        """Add one line and let it reach the disk's cache at once."""
        with self._lock:
            if self._file.tell() + len(line) > self._limit:
                self._turn()
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _older(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _turn(self) -> None:
        self._file.close()
        for number in range(KEPT, 0, -1):
            newer = self._older(number - 1) if number > 1 else self._path
            if newer.exists():
                newer.replace(self._older(number))
        self._file = self._path.open("ab")
