"""A person pauses work and lets it go on: a chunk at work is finished and kept, no further one is given out."""

from __future__ import annotations

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from jobs.models import Job, JobEvent
from jobs.sending import send_wakes


def hold(job: Job) -> bool:
    """Pause a job, a batch with all of its parts; it stays paused over restarts. False when it is not active."""
    return bool(_put(job, is_held=True, text=_("Paused by you. What is done is kept.")))


def let_go(job: Job) -> bool:
    """Let paused work go on where it stopped; False when there was nothing to let go."""
    count = _put(job, is_held=False, text=_("Goes on."))
    if count and job.parent_id:
        with unscoped("a part of a paused batch goes on"):
            Job.objects.filter(pk=job.parent_id).update(is_held=False, updated_at=timezone.now())
    send_wakes(count)
    return bool(count)


def _put(job: Job, *, is_held: bool, text: str) -> int:
    with unscoped("a job is paused or goes on with its parts"):
        rows = Job.objects.filter(Q(pk=job.pk) | Q(parent=job.pk), state__in=Job.ACTIVE, is_held=not is_held)
        count = rows.update(is_held=is_held, updated_at=timezone.now())
        if count:
            JobEvent.objects.create(job=job, text=text)
    job.refresh_from_db()
    return count
