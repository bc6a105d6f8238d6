"""Whether a worker has more to do than one process can: Python uses one core a process, whatever its threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

EVERY = 0.5  # seconds between two looks
WHOLE = 0.7  # of a core: a process that uses this much has no more to give
SOME = 0.15  # of a core, all slots taken: it works instead of waiting for models, and others use the computer too


@dataclass(frozen=True)
class Look:
    """A worker at one moment: processor seconds so far, slots that are taken, whether that is all of them."""

    at: float
    used: float
    taken: int
    is_full: bool


def is_too_much(before: Look, now: Look) -> bool:
    """Whether one process was not enough between two looks. Jobs that only wait for a model need no other process."""
    share = (now.used - before.used) / max(now.at - before.at, 0.001)
    if before.is_full and now.is_full:
        return share >= SOME
    return min(before.taken, now.taken) >= 2 and share >= WHOLE


def watch(slots: Callable[[], tuple[int, bool]], tell: Callable[[], None]) -> None:
    """Call `tell` from a side thread whenever the last moment was too much; `slots` gives how many are taken, and
    whether all are."""

    def look() -> Look:
        return Look(time.monotonic(), time.process_time(), *slots())

    def go_on() -> None:
        before = look()
        while True:
            time.sleep(EVERY)
            now = look()
            if is_too_much(before, now):
                tell()
            before = now

    threading.Thread(target=go_on, name="load", daemon=True).start()
