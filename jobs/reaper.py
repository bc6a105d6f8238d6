"""Puts right what a dead worker or a lost message left behind; every 15 seconds and when a worker starts."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from jobs import batch
from jobs.choice import due
from jobs.clock import release_turns
from jobs.enqueue import cancel_waiting_rows
from jobs.models import Job, JobEvent
from jobs.sending import send_wakes

logger = logging.getLogger(__name__)
EVERY = 15.0  # seconds
SEND_AGAIN = timedelta(seconds=60)
KEEP_FINISHED = timedelta(days=30)
ROWS_PER_DELETE = 500


def reap() -> None:
    """Queue jobs whose lease expired, finish cancelled rows, settle batches, and wake workers for due rows."""
    with unscoped("the reaper looks after everybody's jobs"):
        now = timezone.now()
        _take_back(Q(lease_until__lt=now), now)
        cancel_waiting_rows(Q())
        for batch_id in Job.objects.filter(is_batch=True, state__in=Job.ACTIVE).values_list("pk", flat=True):
            batch.settle(batch_id)
        wake_for_due_rows(now)


def release_worker(worker_name: str) -> int:
    """Queue the running jobs of a worker that is certainly gone, at once; how many they were."""
    with unscoped("a worker is gone"):
        count = _take_back(Q(worker=worker_name), timezone.now())
    release_turns(worker_name)
    send_wakes(count)
    return count


def wake_for_due_rows(now: datetime) -> int:
    """Send messages for due rows that nobody was woken for in the last minute; how many rows they are."""
    stale = due(now).filter(Q(sent_at=None) | Q(sent_at__lt=now - SEND_AGAIN))
    count = stale.update(sent_at=now)
    send_wakes(count)
    return count


def tidy() -> None:
    """Remove jobs that ended more than 30 days ago, with their logs."""
    with unscoped("old jobs are removed"):
        old = Job.objects.filter(finished_at__lt=timezone.now() - KEEP_FINISHED, parent=None)
        while some := list(old.exclude(state__in=Job.ACTIVE).values_list("pk", flat=True)[:ROWS_PER_DELETE]):
            Job.objects.filter(pk__in=some).delete()


def _take_back(where: Q, now: datetime) -> int:
    """Queue the running rows that match, or fail those whose worker died too often."""
    count = 0
    for job in Job.objects.filter(where, state=Job.State.RUNNING, is_batch=False):
        with transaction.atomic():
            if not _take_back_one(job, where, now):
                continue
            count += 1
        logger.warning("Job %s (%s) lost its worker.", job.pk, job.kind)
        if job.parent_id:
            batch.settle(job.parent_id)
    return count


def _take_back_one(job: Job, where: Q, now: datetime) -> bool:
    rows = Job.objects.filter(where, pk=job.pk, token=job.token, state=Job.State.RUNNING)
    freed = {"token": None, "lease_until": None, "worker": "", "updated_at": now, "failures": F("failures") + 1}
    if job.failures + 1 < job.max_failures:
        text = _("The worker stopped in the middle of a chunk. The chunk starts again.")
        held = rows.update(state=Job.State.QUEUED, sent_at=None, **freed)
    else:
        text = _("The worker stopped %(times)d times in the middle of this job. What was finished before is kept.") % {
            "times": job.failures + 1
        }
        hint = _("Press Retry. If it happens again, this computer may be short of memory: the server's log says more.")
        ended = {"error": text, "error_type": "WorkerLost", "hint": hint, "finished_at": now}
        held = rows.update(state=Job.State.FAILED, **freed, **ended)
    if held:
        JobEvent.objects.create(job=job, text=text, level="warn")
    return bool(held)
