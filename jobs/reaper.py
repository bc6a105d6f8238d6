"""Puts right what a dead worker or a lost message left behind; every 15 seconds and when a worker starts."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from accounts.ownership import unscoped
from jobs import batch
from jobs.choice import due
from jobs.enqueue import cancel_waiting_rows
from jobs.models import Job
from jobs.recovery import take_back
from jobs.sending import send_wakes

EVERY = 15.0  # seconds
SEND_AGAIN = timedelta(seconds=60)
KEEP_FINISHED = timedelta(days=30)
ROWS_PER_DELETE = 500


def reap() -> None:
    """Queue jobs whose lease expired, finish cancelled rows, settle batches, and wake workers for due rows."""
    with unscoped("the reaper looks after everybody's jobs"):
        now = timezone.now()
        take_back(Q(lease_until__lt=now), now)
        cancel_waiting_rows(Q())
        for batch_id in Job.objects.filter(is_batch=True, state__in=Job.ACTIVE).values_list("pk", flat=True):
            batch.settle(batch_id)
        wake_for_due_rows(now)


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
