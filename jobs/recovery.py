"""Jobs whose worker is gone: back into the queue, or failed when workers died of the same job again and again."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from jobs import batch
from jobs.models import Job, JobEvent

logger = logging.getLogger(__name__)


def take_back(where: Q, now: datetime) -> int:
    """Queue the running rows that match, or fail those whose worker died too often; call it inside `unscoped()`."""
    count = 0
    for job in Job.objects.filter(where, state=Job.State.RUNNING, is_batch=False):
        with transaction.atomic():
            if not take_back_one(job, where, now):
                continue
            count += 1
        logger.warning("Job %s (%s) lost its worker.", job.pk, job.kind)
        if job.parent_id:
            batch.settle(job.parent_id)
    return count


def take_back_one(job: Job, where: Q, now: datetime) -> bool:
    """The same for one row as it was read; False when it changed since (its worker lived and finished)."""
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
