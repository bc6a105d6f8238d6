"""Background work as rows: the row is the truth, the broker only carries its id (stack-notes §4.3).

queued ──claim──▶ running ──▶ done | failed | cancelled
  ▲                 │  │
  │   slot given    │  └──▶ paused (until not_before) ──claim──▶ running
  └── back / reaped ┘
  ▲
  └── retry ── failed | cancelled          (a job that is done never runs again)

Every write while running is filtered by `token`, so a worker that lost its lease cannot write (jobs/lease.py).
A batch (`is_batch`) is never claimed: it is running while one of its children is active, and shows their sums.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from accounts.wording import number
from jobs.registry import kinds

OF_TOTAL = {
    "chunks": _("of %(total)s chunks"),
    "messages": _("of %(total)s messages"),
    "files": _("of %(total)s files"),
    "megabytes": _("of %(total)s MB"),
}


class Job(OwnedModel):
    """One piece of background work of one person. `subject` is an opaque key of what it is about."""

    class State(models.TextChoices):
        QUEUED = "queued", _("waiting")
        RUNNING = "running", _("running")
        PAUSED = "paused", _("paused")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("stopped")

    ACTIVE = (State.QUEUED, State.RUNNING, State.PAUSED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True)
    label = models.CharField(max_length=300, blank=True)
    key = models.CharField(max_length=200, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="children")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    params = models.JSONField(default=dict, blank=True)
    result = models.JSONField(default=dict, blank=True)
    is_batch = models.BooleanField(default=False)

    attempts = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    max_failures = models.PositiveIntegerField(default=3)
    token = models.UUIDField(null=True, blank=True)
    worker = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    served_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    is_held = models.BooleanField(default=False)  # a person paused it: not given out until they let it go on

    step = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    doing = models.CharField(max_length=300, blank=True)
    error = models.TextField(blank=True)
    error_type = models.CharField(max_length=80, blank=True)  # of a paused job: what it waits for, as "budget"
    hint = models.TextField(blank=True)
    can_retry = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "key"],
                condition=Q(state__in=["queued", "running", "paused"]) & ~Q(key=""),
                name="one_active_job_per_key",
            ),
        )
        indexes = (
            models.Index(fields=["state", "not_before"]),
            models.Index(fields=["owner", "state", "-created_at"]),
            models.Index(fields=["owner", "served_at"]),
            models.Index(fields=["token"]),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def unit(self) -> str:
        """What `step` and `total` count; a batch whose parts count different things says chunks of its sum."""
        if self.is_batch:
            return str(self.params.get("unit") or "chunks")
        kind = kinds.get(self.kind)
        return kind.unit if kind else "chunks"

    @property
    def of_total(self) -> str:
        """“of 38 messages”, beside the number of those that are done."""
        return str(OF_TOTAL[self.unit]) % {"total": number(self.total)}

    @property
    def so_far(self) -> str:
        """“18 of 38 messages”."""
        return f"{number(self.step)} {self.of_total}"


class JobEvent(ScopedModel):
    """A line of a job's own log; may hold counts and hints, never chat text or keys."""

    owner_path = "job__owner"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=timezone.now)
    level = models.CharField(max_length=8, default="info")
    text = models.TextField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def is_bad(self) -> bool:
        return self.level in ("error", "bad")


class Turn(models.Model):
    """The lease of something that happens by the clock, so that two workers or two clocks never do it at once."""

    name = models.CharField(max_length=80, primary_key=True)
    token = models.UUIDField(null=True, blank=True)
    worker = models.CharField(max_length=80, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name
