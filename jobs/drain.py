"""Run jobs in this process: for commands that wait while no worker is there, and for tests."""

from __future__ import annotations

import time
from collections.abc import Callable

from accounts.models import User
from jobs.chunk import run_next
from jobs.lines import lines
from jobs.models import Job

LOOK_AGAIN = 0.2  # seconds


def run_until_idle(owner: User | None = None, timeout: float | None = None) -> int:
    """Run due chunks of `owner` (or of everybody) until none is due or `timeout` seconds passed; how many ran.

    Paused jobs whose time has not come are left alone.
    """
    end = time.monotonic() + timeout if timeout is not None else None
    chunks = 0
    while (end is None or time.monotonic() < end) and run_next(owner):
        chunks += 1
    return chunks


def run_until_ended(job: Job, timeout: float | None = None, note: Callable[[str], object] | None = None) -> Job:
    """Work on the owner's jobs until `job` has ended, waiting for pauses and for other workers; the fresh row.

    Safe beside running workers: each chunk is claimed by one of us. After `timeout` seconds it returns as it is.
    `note` hears once about each pause: why, and until when.
    """
    end = time.monotonic() + timeout if timeout is not None else None
    told = None
    while job.is_active and (end is None or time.monotonic() < end):
        if not run_next(job.owner):
            time.sleep(LOOK_AGAIN)
        job.refresh_from_db()
        if note and job.state == Job.State.PAUSED and job.not_before not in (None, told):
            told = job.not_before
            note(lines([job])[0].sentence)
    return job
