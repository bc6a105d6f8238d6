"""What pages ask about a person's jobs. Lists show jobs on their own and batches; the parts of a batch show with it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypedDict, cast

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from jobs.models import Job

TURN = timedelta(seconds=60)
AFTERMATH = timedelta(minutes=1)
SMALL_BATCH, PARTS_SHOWN = 12, 60
PACE_RUNNING, PACE_AFTER, PACE_IDLE = 1, 5, 20  # seconds between two looks of a live page


class Counts(TypedDict):
    """How many jobs of a person are in which condition."""

    running: int
    waiting: int
    finished: int
    failed_today: int


def mine(user: User) -> QuerySet[Job]:
    """All jobs and batches of this person, newest first."""
    return Job.objects.for_user(user).filter(parent=None).order_by("-created_at")


def at_work(now: datetime) -> Q:
    """Running, or between two chunks: a job gives its slot back after each chunk and still is at work for people."""
    between = Q(state=Job.State.QUEUED, not_before=None, served_at__gt=now - TURN, is_held=False)
    return Q(state=Job.State.RUNNING) | between


def running(user: User) -> QuerySet[Job]:
    """What is at work, oldest first."""
    return mine(user).filter(at_work(timezone.now())).order_by("created_at")


def waiting(user: User) -> QuerySet[Job]:
    """What waits for a slot or for a time, oldest first."""
    rows = mine(user).filter(state__in=(Job.State.QUEUED, Job.State.PAUSED))
    return rows.exclude(at_work(timezone.now())).order_by("created_at")


def finished(user: User, state: str = "") -> QuerySet[Job]:
    """What ended, last first; `state` keeps only done, failed or cancelled ones."""
    rows = mine(user).exclude(state__in=Job.ACTIVE).order_by("-finished_at")
    return rows.filter(state=state) if state else rows


def recent(user: User, count: int = 5) -> list[Job]:
    """The last jobs of this person, whatever became of them."""
    return list(mine(user)[:count])


def failed_since(user: User, since: datetime) -> QuerySet[Job]:
    """What failed after `since`, last first."""
    return finished(user, Job.State.FAILED).filter(finished_at__gte=since)


def counts(user: User) -> Counts:
    """Running, waiting, finished and failed today (in the person's time zone), in one query."""
    now = timezone.now()
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    busy = at_work(now)
    found = mine(user).aggregate(
        running=Count("pk", filter=busy),
        waiting=Count("pk", filter=Q(state__in=(Job.State.QUEUED, Job.State.PAUSED)) & ~busy),
        finished=Count("pk", filter=~Q(state__in=Job.ACTIVE)),
        failed_today=Count("pk", filter=Q(state=Job.State.FAILED, finished_at__gte=midnight)),
    )
    return cast(Counts, found)


def stamp(user: User) -> tuple[int, datetime | None, datetime | None]:
    """Changes whenever anything about this person's jobs changed: count, last change, last end."""
    found = (
        Job.objects.for_user(user)
        .order_by()
        .aggregate(count=Count("pk"), changed=Max("updated_at"), ended=Max("finished_at"))
    )
    return found["count"], found["changed"], found["ended"]


def parts(batches: dict[uuid.UUID, dict[str, int]], user: User) -> list[Job]:
    """The parts that a list shows of these batches (with their `part_counts`): all of a small batch, of a large one
    those at work and those that failed."""
    small = [batch_id for batch_id, counts in batches.items() if sum(counts.values()) <= SMALL_BATCH]
    shown = Q(parent__in=small) | at_work(timezone.now()) | Q(state=Job.State.FAILED)
    rows = Job.objects.for_user(user).filter(shown, parent__in=list(batches))
    return list(rows.order_by("parent", "created_at", "pk")[:PARTS_SHOWN])


def part_counts(batch_ids: Iterable[uuid.UUID], user: User) -> dict[uuid.UUID, dict[str, int]]:
    """How many parts of each batch are in which state."""
    rows = Job.objects.for_user(user).filter(parent__in=list(batch_ids)).order_by()
    found: dict[uuid.UUID, dict[str, int]] = {}
    for batch_id, state, count in rows.values_list("parent", "state").annotate(Count("pk")):
        found.setdefault(batch_id, {})[state] = count
    return found
