"""Claim · heartbeat · release, all by compare-and-set: the row is changed only where it still is as it was read.

A lease is a random token written into the row by the claim. Whoever holds it writes with `rows()`, which matches
nothing any more once the lease was taken away, so a worker that was thought dead cannot overwrite its successor.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.choice import due, next_due
from jobs.models import Job, Turn
from jobs.recovery import take_back
from jobs.sending import send_wakes

LEASE = timedelta(seconds=60)


def worker_name() -> str:
    """Who claims in this process: `CHARMEM_WORKER_NAME`, else host and process id."""
    return (os.environ.get("CHARMEM_WORKER_NAME") or f"{socket.gethostname()}:{os.getpid()}")[:80]


@dataclass
class Lease:
    """The right to work on one job for a while. `lost` and `cancelled` are set by the heartbeat (jobs/run.py)."""

    job_id: uuid.UUID
    token: uuid.UUID
    lost: bool = False
    cancelled: bool = False

    def rows(self) -> QuerySet[Job]:
        """The job's row while it is ours, else nothing; call it inside `unscoped()`."""
        return Job.objects.filter(pk=self.job_id, token=self.token, state=Job.State.RUNNING)

    def renew(self, **fields: object) -> bool:
        """Heartbeat: hold the job for another `LEASE` and write `fields`; False when the lease is lost."""
        now = timezone.now()
        held = self.rows().update(heartbeat_at=now, lease_until=now + LEASE, updated_at=now, **fields)
        self.lost = self.lost or not held
        return bool(held)


def claim(job_id: uuid.UUID, now: datetime | None = None, *, is_part: bool = True) -> Lease | None:
    """Take one job if it is due and nobody else took it; call it inside `unscoped()`.

    `is_part` says that the job may belong to a batch, which then runs too.
    """
    now = now or timezone.now()
    token = uuid.uuid4()
    taken = (
        due(now)
        .filter(pk=job_id)
        .update(
            state=Job.State.RUNNING,
            token=token,
            worker=worker_name(),
            attempts=F("attempts") + 1,
            lease_until=now + LEASE,
            heartbeat_at=now,
            served_at=now,
            not_before=None,
            error_type="",
            started_at=Coalesce("started_at", now),
            updated_at=now,
        )
    )
    if not taken:
        return None
    if is_part:
        Job.objects.filter(children=job_id, state__in=Job.ACTIVE).update(
            state=Job.State.RUNNING,
            not_before=None,
            served_at=now,
            started_at=Coalesce("started_at", now),
            updated_at=now,
        )
    return Lease(job_id, token)


def claim_next(owner: User | None = None) -> Lease | None:
    """Take the job whose turn it is (jobs/choice.py); None when nothing is due. Call it inside `unscoped()`."""
    while found := next_due(timezone.now(), owner):
        job_id, batch_id = found
        if lease := claim(job_id, is_part=batch_id is not None):
            return lease
    return None


def release_worker(name: str) -> int:
    """Queue the running jobs of a worker that is certainly gone, at once; how many they were."""
    with unscoped("a worker is gone"):
        count = take_back(Q(worker=name), timezone.now())
    Turn.objects.filter(worker=name).update(token=None, lease_until=None, worker="")
    send_wakes(count)
    return count
