"""How many threads of this worker run jobs at once; the others stay free for what happens by the clock."""

from __future__ import annotations

import threading


class Slots:
    """A counter that loses no wake-up: who came in vain makes somebody who leaves look once more."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._busy = 0
        self._came_in_vain = False
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        return self._busy

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken at this moment."""
        return self._busy >= self._size

    def enter(self) -> bool:
        """Take a slot; False when all are taken."""
        with self._lock:
            if self._busy >= self._size:
                self._came_in_vain = True
                return False
            self._busy += 1
            return True

    def leave(self) -> bool:
        """Give the slot back; False when somebody came in vain meanwhile: keep it and look once more."""
        with self._lock:
            if self._came_in_vain:
                self._came_in_vain = False
                return False
            self._busy -= 1
            return True
