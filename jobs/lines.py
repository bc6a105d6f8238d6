"""A job as a list or page shows it: its name, how it stands, the sentence beside it, what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs import registry
from jobs.models import Job

LOOKS = {
    Job.State.QUEUED: ("is-off", "clock"),
    Job.State.RUNNING: ("is-live", "play"),
    Job.State.PAUSED: ("is-warn", "hourglass"),
    Job.State.DONE: ("is-ok", "circle-check"),
    Job.State.FAILED: ("is-bad", "octagon-alert"),
    Job.State.CANCELLED: ("is-off", "circle-stop"),
}

HELD = ("is-warn", "pause")

PART_ORDER = (
    Job.State.DONE,
    Job.State.RUNNING,
    Job.State.PAUSED,
    Job.State.FAILED,
    Job.State.CANCELLED,
    Job.State.QUEUED,
)


@dataclass
class Line:
    """One job for templates. `facts` are the figures that apps above know about it (registry.add_facts)."""

    job: Job
    facts: Sequence[tuple[str, str]] = ()
    parts: list[Line] = field(default_factory=list)
    part_counts: dict[str, int] = field(default_factory=dict)
    ahead: int = 0

    @property
    def css(self) -> str:
        return self._look[0]

    @property
    def icon(self) -> str:
        return self._look[1]

    @property
    def _look(self) -> tuple[str, str]:
        return HELD if self.is_held else LOOKS[Job.State(self.job.state)]

    @property
    def is_held(self) -> bool:
        """Whether the person paused it."""
        return self.job.is_active and self.job.is_held

    @property
    def state(self) -> str:
        """The state in one word."""
        if self.is_stopping:
            return _("stopping")
        return _("paused") if self.is_held else str(self.job.get_state_display())

    @property
    def title(self) -> str:
        """The label the job was given, else what its kind is called."""
        kind = registry.kinds.get(self.job.kind)
        return self.job.label or (str(kind.title) if kind else self.job.kind)

    @property
    def page(self) -> str:
        """Address of what the job is about, or ""."""
        kind = registry.kinds.get(self.job.kind)
        return kind.page(self.job) if kind else ""

    @property
    def figure(self) -> str:
        """The first figure, for the narrow column of a list."""
        return self.facts[0][1] if self.facts else ""

    @property
    def parts_sentence(self) -> str:
        """How the parts of a batch stand: "30 parts: 12 done, 1 failed, 17 waiting."."""
        counts = self.part_counts
        total = sum(counts.values())
        shares = ", ".join(f"{counts[state.value]} {state.label}" for state in PART_ORDER if counts.get(state.value))
        sentence = ngettext("%(total)d part: %(shares)s.", "%(total)d parts: %(shares)s.", total)
        return sentence % {"total": total, "shares": shares}

    @property
    def next_chunk(self) -> int:
        """The number of the chunk a retry starts with, 0 when there is no telling."""
        if not self.job.step or not self.job.total or self.job.is_batch or self.job.unit != "chunks":
            return 0
        return self.job.step + 1

    @property
    def left(self) -> float | None:
        """About how many seconds are left, from the pace so far; None while nobody can tell."""
        job = self.job
        if job.started_at is None or not job.step or job.step >= job.total:
            return None
        return (timezone.now() - job.started_at).total_seconds() * (job.total - job.step) / job.step

    @property
    def is_stopping(self) -> bool:
        return self.job.is_active and self.job.cancel_requested

    @property
    def can_retry(self) -> bool:
        return self.job.can_retry and self.job.state in (Job.State.FAILED, Job.State.CANCELLED)

    @property
    def when(self) -> datetime:
        """The time beside the row: its end, else when it was asked for."""
        return self.job.finished_at or self.job.created_at

    @property
    def when_text(self) -> str:
        """`when` in a few letters: the time of today, else the day."""
        here = timezone.localtime(self.when)
        is_today = here.date() == timezone.localdate()
        return str(date_format(here, "H:i" if is_today else "j M"))

    @property
    def sentence(self) -> str:
        """Why it waits, what it does, what came out or went wrong."""
        return _held(self) if self.is_held else str(_SENTENCES[Job.State(self.job.state)](self))


def _held(line: Line) -> str:
    if line.job.state == Job.State.RUNNING and not line.job.is_batch:
        return _("Paused by you: the chunk at work is finished first.")
    return " ".join(part for part in (_("Paused by you."), _so_far(line.job)) if part)


def _waits(line: Line) -> str:
    job = line.job
    if job.not_before and job.not_before > timezone.now():
        return _("Starts at %(time)s.") % {"time": _clock(job.not_before)}
    if not line.ahead:
        return _("Starts as soon as a worker is free.")
    sentence = ngettext(
        "Takes turns with %(n)d other job of yours.",
        "Takes turns with %(n)d other jobs of yours.",
        line.ahead,
    )
    return sentence % {"n": line.ahead}


def _is_paused(line: Line) -> str:
    job = line.job
    if not job.not_before:
        return job.doing
    return _("%(reason)s Goes on by itself at %(time)s.") % {"reason": job.doing, "time": _clock(job.not_before)}


def _is_done(line: Line) -> str:
    text = line.job.result.get("text")
    return text if isinstance(text, str) else _so_far(line.job)


def _has_failed(line: Line) -> str:
    job = line.job
    if not job.total or job.is_batch:
        return job.error
    if job.unit == "chunks":
        where = _("Failed at chunk %(n)d of %(total)d.") % {"n": min(job.step + 1, job.total), "total": job.total}
    else:
        where = _("Failed after %(so_far)s.") % {"so_far": job.so_far}
    return f"{where} {job.error}"


def _was_stopped(line: Line) -> str:
    return _("Stopped.") + (f" {_so_far(line.job)}" if line.job.total else "")


def _so_far(job: Job) -> str:
    if not job.total:
        return ""
    return _("%(so_far)s done.") % {"so_far": job.so_far}


def _clock(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "H:i:s")


_SENTENCES = {
    Job.State.QUEUED: _waits,
    Job.State.RUNNING: lambda line: line.job.doing,
    Job.State.PAUSED: _is_paused,
    Job.State.DONE: _is_done,
    Job.State.FAILED: _has_failed,
    Job.State.CANCELLED: _was_stopped,
}


def lines(jobs: Iterable[Job]) -> list[Line]:
    """The jobs with the figures of apps above, one look-up for all of them."""
    rows = list(jobs)
    found: dict[object, list[tuple[str, str]]] = {}
    for look_up in registry.facts if rows else ():
        for job_id, pairs in look_up(rows).items():
            found.setdefault(job_id, []).extend(pairs)
    return [Line(job, found.get(job.pk, ())) for job in rows]
