"""What a job's page says about its model calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.wording import money, number
from jobs.registry import Panel
from providers import queries

if TYPE_CHECKING:
    from jobs.models import Job


def panel(job: Job) -> Panel | None:
    """Sums and the newest calls; no panel for a job that asked no model."""
    total, newest = queries.calls_of_job(job)
    if not total.calls:
        return None
    return Panel("providers/_job_calls.html", {"total": total, "newest": newest})


def facts(jobs: Sequence[Job]) -> Mapping[UUID, Sequence[tuple[str, str]]]:
    """Calls and cost beside jobs in lists."""
    if not jobs:
        return {}
    found = queries.costs_of_jobs([job.pk for job in jobs], jobs[0].owner)
    return {
        job_id: [(_("Calls"), number(calls)), *([(_("Cost so far"), money(cost))] if cost is not None else [])]
        for job_id, (calls, cost) in found.items()
    }
