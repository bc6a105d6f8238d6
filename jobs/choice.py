"""Which job gets the next free slot. A message from the broker only wakes a worker; what runs is chosen here.

Work is given out per chunk, so every chunk is a new choice:

1. *Between people*: whoever has the fewest chunks running, then whoever was served longest ago. A batch of a
   thousand chats of one person therefore delays another person's single chat by one chunk at most.
2. *Within one person*: every job on its own and every batch takes turns, the one served longest ago first, so that
   a single chat does not wait behind that person's own batch either.
3. *Within one batch*: the longest queue first (most chunks left; an unknown length counts as long), so that all
   slots stay busy until the end instead of waiting for one long chat at last.

Every job of a person moves forward in these turns, so nothing starves.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import cache

from django.db.models import Case, Count, F, Max, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from accounts.models import User
from jobs.models import Job

UNKNOWN_LENGTH = 1_000_000_000


def due(now: datetime) -> QuerySet[Job]:
    """All jobs that could run a chunk now; call it inside `unscoped()`."""
    return _waiting().filter(Q(not_before=None) | Q(not_before__lte=now))


def next_due(now: datetime, owner: User | None = None) -> tuple[uuid.UUID, uuid.UUID | None] | None:
    """The ids of the job whose turn it is, among `owner`'s jobs or everybody's, and of its batch; None when nothing
    is due."""
    owner_id = owner.pk if owner else _next_owner(now)
    if owner_id is None:
        return None
    rows = _in_turn().filter(Q(not_before=None) | Q(not_before__lte=now), owner=owner_id)
    return next(iter(rows[:1]), None)


@cache
def _in_turn() -> QuerySet[Job, tuple[uuid.UUID, uuid.UUID | None]]:
    """Ids of what waits and of its batch, in turn. Built once, as every chunk asks for it; it holds no rows."""
    left = Case(When(total=0, then=Value(UNKNOWN_LENGTH)), default=F("total") - F("step"))
    rows = _waiting().annotate(turn=Coalesce("parent__served_at", "served_at"), left=left)
    turns = (F("turn").asc(nulls_first=True), "-left", F("served_at").asc(nulls_first=True), "created_at")
    return rows.order_by(*turns).values_list("pk", "parent_id")


@cache
def _waiting() -> QuerySet[Job]:
    """What nobody runs, holds or cancelled, in no order; built once."""
    states = (Job.State.QUEUED, Job.State.PAUSED)
    rows = Job.objects.filter(state__in=states, is_batch=False, cancel_requested=False, is_held=False)
    return rows.order_by()


def _next_owner(now: datetime) -> uuid.UUID | None:
    waiting = list(due(now).order_by().values_list("owner", flat=True).distinct())
    if len(waiting) < 2:
        return waiting[0] if waiting else None
    at_work = Job.objects.filter(owner__in=waiting, state=Job.State.RUNNING, is_batch=False).order_by()
    running = dict(at_work.values_list("owner").annotate(Count("pk")))
    served = dict(Job.objects.filter(owner__in=waiting).order_by().values_list("owner").annotate(Max("served_at")))

    def rank(owner_id: uuid.UUID) -> tuple[int, float]:
        last = served.get(owner_id)
        return running.get(owner_id, 0), last.timestamp() if last else 0.0

    return min(waiting, key=rank)
