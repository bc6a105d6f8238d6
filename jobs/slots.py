"""How many threads of this worker run jobs at once; the others stay free for what happens by the clock."""

from __future__ import annotations

import threading
import time

SHARED = 8  # slots of each of two processes that work side by side
SHARED_SECONDS = 10.0


class Slots:
    """A counter that loses no wake-up: who came in vain makes somebody who leaves look once more.

    While another process helps (`share`), only `shared` of the slots are given out: threads of one process get in each
    other's way, and the work beyond that is done sooner over there.
    """

    def __init__(self, size: int, shared: int | None = None) -> None:
        self._size = size
        self._shared = size if shared is None else min(size, shared)
        self._shares_until = 0.0
        self._busy = 0
        self._came_in_vain = False
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        return self._busy

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken at this moment."""
        return self._busy >= self._limit

    @property
    def is_one_too_many(self) -> bool:
        """Whether somebody should leave, as fewer are given out now than are taken."""
        return self._busy > self._limit

    @property
    def _limit(self) -> int:
        return self._shared if time.monotonic() < self._shares_until else self._size

    def share(self, seconds: float = SHARED_SECONDS) -> None:
        """Leave work to another process from now on for so long; say it again to go on sharing."""
        self._shares_until = time.monotonic() + seconds

    def enter(self) -> bool:
        """Take a slot; False when all are taken."""
        with self._lock:
            if self._busy >= self._limit:
                self._came_in_vain = True
                return False
            self._busy += 1
            return True

    def leave(self) -> bool:
        """Give the slot back; False when somebody came in vain meanwhile: keep it and look once more."""
        with self._lock:
            if self._came_in_vain and self._busy <= self._limit:
                self._came_in_vain = False
                return False
            self._busy -= 1
            return True
