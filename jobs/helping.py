"""A second process that takes part while there is more work than one can do, and ends when there is none.

It hears no messages and keeps no clock: one of its threads looks for due work, the others wait in line behind it.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError, close_old_connections

from accounts.ownership import unscoped
from jobs.chunk import run_chunk
from jobs.lease import Lease, claim_next
from jobs.stopping import is_stopping

logger = logging.getLogger(__name__)
LOOK_EVERY = 0.5  # seconds


class Helper:
    """`threads` chunks at a time, until nothing was due for `idle` seconds."""

    def __init__(self, threads: int, idle: float) -> None:
        self._threads = [threading.Thread(target=self._work, name=f"helper-{number}") for number in range(threads)]
        self._idle = idle
        self._looking = threading.Lock()
        self._ended = threading.Event()  # a chunk of ours: its job may be due again
        self._counting = threading.Lock()
        self._at_work = 0
        self._last = time.monotonic()

    def run(self) -> None:
        """Return when there is nothing to do any more, or when this process is to stop."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK_EVERY)  # with a limit, so that a signal is heard meanwhile

    def _work(self) -> None:
        while not self._is_over():
            with self._looking:
                lease = self._next()
            if lease is not None:
                self._run(lease)

    def _next(self) -> Lease | None:
        """The next chunk, as soon as one is due."""
        while not self._is_over():
            self._ended.clear()
            if lease := self._claim():
                return lease
            self._ended.wait(LOOK_EVERY)
        return None

    def _claim(self) -> Lease | None:
        close_old_connections()
        try:
            with unscoped("jobs are run for everybody"):
                lease = claim_next()
        except DatabaseError as error:
            logger.warning("The database is away (%s); looking again soon.", type(error).__name__)
            lease = None
        if lease is not None:
            self._count(1)
        return lease

    def _run(self, lease: Lease) -> None:
        try:
            run_chunk(lease)
        except DatabaseError as error:
            logger.warning("The database is away (%s); the lease runs out by itself.", type(error).__name__)
        finally:
            self._count(-1)
            self._ended.set()
            close_old_connections()

    def _count(self, more: int) -> None:
        with self._counting:
            self._at_work += more
            self._last = time.monotonic()

    def _is_over(self) -> bool:
        with self._counting:
            return is_stopping() or (not self._at_work and time.monotonic() - self._last > self._idle)
