"""What a kind's `run()` receives and what it may answer. One call of `run()` is one chunk of work.

A chunk looks like this::

    def run(run: JobRun) -> Outcome:
        run.check()                                  # stop here when cancelled, shutting down, or the lease is lost
        answer = complete(connection, request, stop=run.should_stop)     # outside any transaction
        with run.commit():                           # proves that the lease is still ours, then all effects at once
            save(answer)
            run.progress(step=run.job.step + 1)
        return MORE if chunks_left else done({"memories": 4})
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from jobs.lease import LEASE, Lease
from jobs.models import Job, JobEvent
from jobs.progress import Notes
from jobs.stopping import is_stopping

HEARTBEAT = LEASE / 6


@dataclass(frozen=True)
class Outcome:
    """The end of one chunk: `more` gives the slot back and asks for another turn, not before `not_before`.

    With `params` the job is done only while it is still asked for exactly this; else it takes another turn.
    """

    more: bool = False
    result: dict[str, Any] | None = None
    not_before: datetime | None = None
    params: dict[str, Any] | None = None


MORE = Outcome(more=True)


def done(result: dict[str, Any] | None = None, params: dict[str, Any] | None = None) -> Outcome:
    """The job is finished; `result` is kept in the row (counts and ids, no chat text). `params`: see Outcome."""
    return Outcome(result=result, params=params)


class Stopped(Exception):
    """The chunk ends here because it was cancelled, the worker shuts down, or the lease went to somebody else."""


class LeaseLost(Stopped):
    """Somebody else works on this job by now; nothing of this chunk may be written."""


class JobPaused(Exception):
    """The job waits until `until` without holding a thread; `reason` is a sentence for people.

    `cause` is a short stable word; who ends that cause wakes the jobs that wait for it (jobs/waking.py).
    """

    def __init__(self, until: datetime, reason: str, cause: str = "") -> None:
        super().__init__(reason)
        self.until = until
        self.reason = reason
        self.cause = cause


class JobFailed(Exception):
    """The job cannot go on. `message` and `hint` are finished sentences without chat text, keys or bodies.

    `retry` says whether trying again makes sense, so that the page offers it.
    """

    def __init__(self, message: str, *, hint: str = "", error_type: str = "", retry: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.error_type = error_type
        self.retry = retry


class JobRun:
    """One chunk at work: the job, its owner, and the ways to talk about it. Not kept beyond the chunk."""

    def __init__(self, job: Job, lease: Lease) -> None:
        self.job = job
        self.owner: User = job.owner
        self.params: dict[str, Any] = dict(job.params)
        self.lease = lease
        self.is_watched = False
        self.carried: dict[str, Any] = {}  # whatever the kind wants at hand until the end of this chunk
        self._notes = Notes(job)
        self._writing = threading.Lock()
        self._thread = threading.get_ident()
        self._renewed_at = timezone.now()

    def log(self, text: str, level: str = "info") -> None:
        """A line in the job's own log: counts and hints, never chat text. `level` is info, good, warn or bad."""
        self._notes.line(text, level)

    def progress(self, step: int | None = None, total: int | None = None, doing: str | None = None) -> None:
        """How far the job is; written at most once a second, and together with the effects inside `commit()`."""
        fields = {"step": step, "total": total, "doing": doing if doing is None else doing[:300]}
        self._notes.set(**{name: value for name, value in fields.items() if value is not None})

    def keep(self, **params: Any) -> None:
        """Change these of the job's params, for example a cursor, at once and beside what others changed in them."""
        with transaction.atomic():
            rows = self.lease.rows()
            rows.update(updated_at=timezone.now())  # holds the row, so that nothing is changed in between
            self.params = {**(rows.values_list("params", flat=True).first() or self.params), **params}
            rows.update(params=self.params)

    def should_stop(self) -> bool:
        """Whether this chunk should end soon; cheap, may be asked from any thread, true within two seconds."""
        if not self.is_watched and self._thread == threading.get_ident():
            self.look()
        return self.lease.lost or self.lease.cancelled or is_stopping()

    def check(self) -> None:
        """Raise `Stopped` when the chunk should end. Call it before each model call."""
        if self.should_stop():
            raise LeaseLost if self.lease.lost else Stopped

    @contextmanager
    def commit(self) -> Iterator[None]:
        """One transaction for a chunk's effects; raises LeaseLost before anything is written if the job is not ours."""
        with transaction.atomic():
            if not self.lease.renew():
                raise LeaseLost
            yield
            if fields := self._notes.fields():
                self.lease.rows().update(**fields)

    def write(self, where: Q | None = None, **fields: Any) -> bool:
        """Write everything that waits and `fields` in one go, if the lease is ours and the row fits `where`."""
        with self._writing:
            waiting, lines = self._notes.take()
            now = timezone.now()
            try:
                with transaction.atomic():
                    rows = self.lease.rows().filter(where or Q())
                    held = rows.update(**{**waiting, "updated_at": now, **fields})
                    if held:
                        JobEvent.objects.bulk_create(lines)
            except BaseException:
                self._notes.put_back(waiting, lines)
                raise
            if not held:
                self._notes.put_back(waiting, lines)
            return bool(held)

    def look(self) -> None:
        """Read from the row whether the job was cancelled or taken away."""
        asked = self.lease.rows().values_list("cancel_requested", flat=True).first()
        self.lease.lost = self.lease.lost or asked is None
        self.lease.cancelled = self.lease.cancelled or bool(asked)

    def beat(self) -> None:
        """Once a second from the side thread: write what waits, renew the lease in time, see a cancel."""
        now = timezone.now()
        if now - self._renewed_at >= HEARTBEAT:
            self.write(heartbeat_at=now, lease_until=now + LEASE)
            self._renewed_at = now
        elif self._notes:
            self.write()
        self.look()
