"""Messages to the workers. A message only wakes one; if it gets lost, the sweep sends another (jobs/reaper.py)."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime

from django.utils import timezone

from accounts.ownership import unscoped
from jobs.models import Job

logger = logging.getLogger(__name__)
MOST_WAKES = 32
LONGEST_COUNTDOWN = 300  # seconds; what waits longer is woken by the sweep


def send(job_id: uuid.UUID | str, not_before: datetime | None = None) -> bool:
    """Wake a worker for a job, at `not_before` if that is soon; False when no message went out."""
    from jobs.tasks import run_job

    wait = (not_before - timezone.now()).total_seconds() if not_before else 0
    if wait > LONGEST_COUNTDOWN:
        return False
    try:
        run_job.apply_async((str(job_id),), countdown=wait + 0.05 if wait > 0 else None, retry=False)
    except Exception as error:  # noqa: BLE001  each broker has its own errors, and the row is safe
        logger.warning("The broker did not take a message (%s); the sweep sends it again.", type(error).__name__)
        return False
    return True


def send_for_row(job_id: uuid.UUID, not_before: datetime | None) -> None:
    """`send`, noted in the row: the sweep sends again a minute after the message should have had its effect."""
    if send(job_id, not_before):
        with unscoped("a message was sent"):
            Job.objects.filter(pk=job_id).update(sent_at=not_before or timezone.now())


def send_wakes(count: int) -> None:
    """Wake enough workers for `count` due jobs: each of them looks for more work until none is due."""
    for _number in range(min(count, MOST_WAKES)):
        if not send(""):
            return
