"""Open clients that wait a moment for the next call to the same server, which then need not connect again.

One thread at a time uses a client. Whoever asks names everything that a connection was vetted by (address, reach,
policy), so a network that an admin closes is closed for the next call. After a minute names are looked up again.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

IDLE_SECONDS = 4.0  # many servers hang up after five
LONGEST_LIFE = 60.0


class Closable(Protocol):
    """A client, or a session around one."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


@dataclass(frozen=True)
class _Idle:
    client: Closable
    born_at: float
    idle_since: float

    def is_good(self, now: float) -> bool:
        return now - self.idle_since < IDLE_SECONDS and now - self.born_at < LONGEST_LIFE


_idle: defaultdict[Hashable, list[_Idle]] = defaultdict(list)
_lock = threading.Lock()
_sweeper: threading.Timer | None = None


@contextmanager
def borrowed(key: Hashable, make: Callable[[], C]) -> Iterator[C]:
    """A client for `key`: one that waits here, else a new one. It waits here again when the block ends well."""
    waiting = _take(key)
    client, born_at = (cast("C", waiting[0]), waiting[1]) if waiting else (make(), time.monotonic())
    try:
        yield client
    except BaseException:
        client.close()
        raise
    _put(key, _Idle(client, born_at, time.monotonic()))


def _take(key: Hashable) -> tuple[Closable, float] | None:
    with _lock:
        while found := _idle.get(key):
            one = found.pop()
            if one.is_good(time.monotonic()):
                return one.client, one.born_at
            one.client.close()
    return None


def _put(key: Hashable, one: _Idle) -> None:
    with _lock:
        _idle[key].append(one)
        _sweep_later()


def _sweep_later() -> None:
    global _sweeper
    if _sweeper is None:
        _sweeper = threading.Timer(IDLE_SECONDS, _sweep)
        _sweeper.daemon = True
        _sweeper.start()


def _sweep() -> None:
    """Close what has waited long enough; once more later while something is left."""
    global _sweeper
    now = time.monotonic()
    with _lock:
        for key, found in list(_idle.items()):
            for one in found:
                if not one.is_good(now):
                    one.client.close()
            _idle[key] = [one for one in found if one.is_good(now)]
            if not _idle[key]:
                del _idle[key]
        _sweeper = None
        if _idle:
            _sweep_later()
