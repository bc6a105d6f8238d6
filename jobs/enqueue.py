"""Put work into the queue, take it out again, try it once more. The row first, then the message (stack-notes §4.3)."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs import batch as batches
from jobs.models import Job
from jobs.sending import send_for_row, send_wakes


def enqueue(
    owner: User,
    kind: str,
    *,
    key: str = "",
    subject: str = "",
    label: str = "",
    params: dict[str, Any] | None = None,
    total: int = 0,
    parent: Job | None = None,
    not_before: datetime | None = None,
    batch: bool = False,
    lets_go: bool = True,
) -> tuple[Job, bool]:
    """A new job of `owner`, or the active one of that owner and key and False. The message goes out on commit.

    With `lets_go` the active one goes on where a person had paused it or asked it to stop (`active_of`).

    `batch` makes a parent that is never run itself; its children are enqueued in the same transaction
    (or all at once with jobs/batch.py `enqueue_batch`).
    """
    if active := active_of(owner, key, lets_go=lets_go):
        return active, False
    job = Job(
        owner=owner,
        kind=kind,
        key=key,
        subject=subject,
        label=label[:300],
        params=params or {},
        total=total,
        parent=parent,
        not_before=not_before,
        is_batch=batch,
    )
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError:
        if active := active_of(owner, key, lets_go=lets_go):
            return active, False
        raise
    if not batch:
        transaction.on_commit(partial(send_for_row, job.pk, not_before))
    return job, True


def request_cancel(job: Job) -> None:
    """Stop a job: at once when it waits, within a heartbeat when it runs. Parts of a batch are stopped with it."""
    now = timezone.now()
    with unscoped("a job is cancelled with its parts"):
        rows = Job.objects.filter(Q(pk=job.pk) | Q(parent=job.pk), state__in=Job.ACTIVE)
        rows.update(cancel_requested=True, updated_at=now)
        cancel_waiting_rows(Q(pk=job.pk) | Q(parent=job.pk))
    batches.settle(job.parent_id or job.pk)
    job.refresh_from_db()


def cancel_waiting_rows(where: Q) -> int:
    """Finish waiting rows whose cancel was asked for; call it inside `unscoped()`."""
    now = timezone.now()
    waiting = Job.objects.filter(
        where, state__in=(Job.State.QUEUED, Job.State.PAUSED), cancel_requested=True, is_batch=False
    )
    return waiting.update(
        state=Job.State.CANCELLED, cancel_requested=False, finished_at=now, updated_at=now, not_before=None, doing=""
    )


def retry(job: Job) -> bool:
    """Queue a failed or stopped job again from where it stopped; a batch retries its failed and stopped parts.

    Parts of which a newer job is active stay ended. False when there is nothing to retry, or none that is not active.
    """
    with unscoped("a job is tried again"):
        ended = (Job.State.FAILED, Job.State.CANCELLED)
        parts = list(job.children.filter(state__in=ended)) if job.is_batch else [job]
        try:
            with transaction.atomic():
                count = sum(_requeue(part.pk) for part in parts)
                if count and (batch_id := job.pk if job.is_batch else job.parent_id):
                    batches.reopen(batch_id)
        except IntegrityError:
            return False
    job.refresh_from_db()
    transaction.on_commit(lambda: send_wakes(count))
    return bool(count)


def _requeue(job_id: uuid.UUID) -> int:
    try:
        with transaction.atomic():
            return _queue_again(job_id)
    except IntegrityError:  # a newer job of the same key is active
        return 0


def _queue_again(job_id: uuid.UUID) -> int:
    return Job.objects.filter(pk=job_id, state__in=(Job.State.FAILED, Job.State.CANCELLED), can_retry=True).update(
        state=Job.State.QUEUED,
        cancel_requested=False,
        failures=0,
        error="",
        error_type="",
        hint="",
        is_held=False,
        not_before=None,
        finished_at=None,
        updated_at=timezone.now(),
    )


def active_of(owner: User, key: str, *, lets_go: bool = True) -> Job | None:
    """The active job of this key. If it was paused or about to stop, it goes on with `lets_go`: asking again is the
    later wish."""
    if not key:
        return None
    active = Job.objects.for_user(owner).filter(key=key, state__in=Job.ACTIVE)
    if lets_go and (wished := active.filter(Q(cancel_requested=True) | Q(is_held=True)).first()):
        _let_go(owner, wished)
    return active.first()


def _let_go(owner: User, job: Job) -> None:
    """It goes on, and its batch is not shown as paused any more."""
    rows = Job.objects.for_user(owner).filter(Q(pk=job.pk) | Q(children=job.pk), state__in=Job.ACTIVE)
    rows.update(cancel_requested=False, is_held=False, updated_at=timezone.now())
    transaction.on_commit(lambda: send_wakes(1))
