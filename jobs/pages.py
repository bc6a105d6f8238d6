"""The context objects of the jobs pages: a full page and its live fragment are drawn from the same one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, QueryDict
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from jobs import queries, registry
from jobs.lines import Line, lines
from jobs.live_page import LivePage, short_hash
from jobs.models import Job, JobEvent

PER_PAGE = 25
WAITING_SHOWN = 50
LOG_SHOWN = 200
STRIP_CHUNKS = 120
STRIP_WIDTH = 1000.0


class JobsPage(LivePage):
    """The list: running with bars, waiting and why, finished with filter and pages."""

    template = "jobs/_list.html"
    moving = "jobs/_list_moving.html"
    FILTERS = ("", Job.State.DONE, Job.State.FAILED, Job.State.CANCELLED)

    def __init__(self, user: User, query: QueryDict) -> None:
        self.user = user
        self.show = query.get("show", "") if query.get("show", "") in self.FILTERS else ""
        self.number = query.get("page", "1")

    @cached_property
    def counts(self) -> queries.Counts:
        return queries.counts(self.user)

    @cached_property
    def stamp(self) -> tuple[Any, ...]:
        return queries.stamp(self.user)

    @cached_property
    def pace(self) -> int:
        if self.counts["running"]:
            return queries.PACE_RUNNING
        last_end = self.stamp[2]
        is_fresh = last_end and timezone.now() - last_end < queries.AFTERMATH
        return queries.PACE_AFTER if is_fresh or self.counts["waiting"] else queries.PACE_IDLE

    @cached_property
    def running(self) -> list[Line]:
        rows = lines(queries.running(self.user))
        batches = {line.job.pk: line for line in rows if line.job.is_batch}
        if batches:
            counts = queries.part_counts(batches, self.user)
            parts = lines(queries.parts(counts, self.user))
            for batch_id, line in batches.items():
                line.parts = [part for part in parts if part.job.parent_id == batch_id]
                line.part_counts = counts.get(batch_id, {})
        return rows

    @cached_property
    def waiting(self) -> list[Line]:
        rows = lines(queries.waiting(self.user)[:WAITING_SHOWN])
        for place, line in enumerate(rows):
            line.ahead = self.counts["running"] + place
        return rows

    @cached_property
    def page(self) -> Page[Job]:
        return Paginator(queries.finished(self.user, self.show), PER_PAGE).get_page(self.number)

    @cached_property
    def finished(self) -> list[Line]:
        return lines(self.page.object_list)

    @property
    def starts(self) -> list[registry.Start]:
        """Where work can be started."""
        return registry.starts

    @property
    def filters(self) -> list[dict[str, Any]]:
        names = {"": _("All"), "done": _("Done"), "failed": _("Failed"), "cancelled": _("Stopped")}
        return [{"value": value, "name": names[value], "is_here": value == self.show} for value in self.FILTERS]

    @property
    def query(self) -> str:
        """The part of the address that the live fragment keeps."""
        query = QueryDict(mutable=True)
        query.update({"show": self.show, "page": str(self.page.number)})
        return query.urlencode()

    @cached_property
    def shape(self) -> str:
        active = [
            (line.job.pk, line.job.cancel_requested, line.job.is_held, bool(line.job.total)) for line in self.running
        ]
        still = [(line.job.pk, line.job.state, line.job.cancel_requested, line.job.is_held) for line in self.waiting]
        ended = [(line.job.pk, line.job.state) for line in self.finished]
        return short_hash(self.pace, active, still, ended, self.query, self.counts["finished"])

    @cached_property
    def seen(self) -> str:
        return f"{self.shape}.{short_hash(self.stamp)}"


class JobPage(LivePage):
    """One job: how far it is, what went wrong and what to do, panels of apps above, its parts, its log."""

    template = "jobs/_job.html"
    moving = "jobs/_job_moving.html"

    def __init__(self, request: HttpRequest, job: Job) -> None:
        self.request = request
        self.job = job
        self.is_full_log = request.GET.get("log") == "all"

    @cached_property
    def line(self) -> Line:
        return lines([self.job])[0]

    @cached_property
    def pace(self) -> int:
        if not self.job.is_active:
            return 0
        is_moving = self.job.state == Job.State.RUNNING or (self.job.served_at and not self.job.not_before)
        return queries.PACE_RUNNING if is_moving else queries.PACE_AFTER

    @cached_property
    def log(self) -> list[JobEvent]:
        rows = self.job.events.order_by("-pk")
        return list(rows if self.is_full_log else rows[:LOG_SHOWN])[::-1]

    @cached_property
    def log_count(self) -> int:
        return self.job.events.count()

    @cached_property
    def parts(self) -> Page[Job]:
        children = self.job.children.select_related("parent").order_by("created_at", "pk")
        return Paginator(children, PER_PAGE).get_page(self.request.GET.get("page", "1"))

    @cached_property
    def part_lines(self) -> list[Line]:
        return lines(self.parts.object_list)

    @cached_property
    def panels(self) -> list[str]:
        """The finished HTML of what apps above have to say about this job."""
        builds = [build for kind, build in registry.panels if kind in ("", self.job.kind)]
        built = [panel for build in builds if (panel := build(self.job))]
        return [render_to_string(panel.template, panel.context, self.request) for panel in built]

    @cached_property
    def strip(self) -> list[dict[str, Any]]:
        """One bar for each chunk: kept, failed, or not started; empty when there are too many, or no chunks counted."""
        job = self.job
        if not 1 < job.total <= STRIP_CHUNKS or job.is_batch or job.unit != "chunks":
            return []
        width = STRIP_WIDTH / job.total
        return [
            {"x": f"{n * width:.1f}", "width": f"{width * 0.95:.1f}", "css": self._chunk(n)} for n in range(job.total)
        ]

    def _chunk(self, number: int) -> str:
        if number < self.job.step:
            return "f-ok"
        return "f-bad" if number == self.job.step and self.job.state == Job.State.FAILED else "f-track"

    @property
    def not_started(self) -> int:
        gone = self.job.step + (self.job.state == Job.State.FAILED)
        return max(0, self.job.total - gone)

    @property
    def query(self) -> str:
        query = QueryDict(mutable=True)
        query.update({"page": str(self.parts.number)} | ({"log": "all"} if self.is_full_log else {}))
        return query.urlencode()

    @cached_property
    def shape(self) -> str:
        job = self.job
        return short_hash(job.state, job.cancel_requested, job.is_held, self.pace, bool(job.total), self.is_full_log)

    @cached_property
    def seen(self) -> str:
        return f"{self.shape}.{short_hash(self.job.updated_at, self.log_count)}"
