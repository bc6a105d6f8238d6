"""The side thread of a worker: once a second it lets every running chunk write, renew its lease and see a cancel."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from django.db import DatabaseError, close_old_connections, connection, connections

from accounts.ownership import unscoped

logger = logging.getLogger(__name__)
EVERY = 1.0  # seconds


class Beating(Protocol):
    """Something that must be looked after while it runs."""

    def beat(self) -> None: ...


class Pulse:
    """One thread and one database connection for all chunks of this process; it ends when none is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[Beating] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, thing: Beating) -> Iterator[bool]:
        """Let `thing` beat inside the block; yields False inside a transaction, which no other thread can see into."""
        if connection.in_atomic_block:
            yield False
            return
        with self._lock:
            self._watched.append(thing)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="jobs-pulse", daemon=True)
                self._thread.start()
        try:
            yield True
        finally:
            with self._lock:
                self._watched.remove(thing)

    def _run(self) -> None:
        try:
            while self._goes_on():
                time.sleep(EVERY)
                self._beat_all()
        finally:
            connections.close_all()

    def _goes_on(self) -> bool:
        with self._lock:
            if not self._watched:
                self._thread = None
            return bool(self._watched)

    def _beat_all(self) -> None:
        with self._lock:
            watched = list(self._watched)
        if not watched:
            return
        close_old_connections()
        with unscoped("heartbeat of running jobs"):
            for thing in watched:
                try:
                    thing.beat()
                except DatabaseError:
                    logger.warning("A heartbeat could not be written.", exc_info=True)


pulse = Pulse()
