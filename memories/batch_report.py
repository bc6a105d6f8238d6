"""What came out of a reading, for the page of its job: found, refused as repetitions, doubtful, held back, failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Count, Q, Sum

from accounts.models import User
from jobs.models import Job
from jobs.registry import Panel
from memories.models import ExtractedChunk, HeldMemory, Memory

KINDS = ("extract", "extract_together", "batch")
MOST_SHOWN = 20


@dataclass(frozen=True)
class Failed:
    """A part that did not come to its end: how far it got, why, and whether it may be tried again."""

    job: Job
    reason: str
    hint: str


@dataclass
class Report:
    """Sums over all parts."""

    memories: int = 0
    messages: int = 0
    chunks: int = 0
    repeated: int = 0
    doubtful: int = 0
    similar: int = 0
    held: int = 0
    characters: list[tuple[object, str, int]] = field(default_factory=list)  # id, name, memories
    failed: list[Failed] = field(default_factory=list)
    failed_count: int = 0
    more_characters: int = 0


def panel(job: Job) -> Panel | None:
    """The report of a job that reads, once something was read or went wrong."""
    if job.kind not in KINDS:
        return None
    report = report_of(job.owner, job)
    if not report.chunks and not (job.is_batch and report.failed):
        return None
    return Panel("memories/_reading_report.html", {"report": report, "job": job})


def report_of(user: User, job: Job) -> Report:
    """Counted from what the job wrote, so a part that goes on later is counted as well."""
    mine = Q(job=job) | Q(job__parent=job)
    chunks = ExtractedChunk.objects.for_user(user).filter(mine)
    sums = chunks.aggregate(memories=Sum("memories"), messages=Sum("messages"), n=Count("pk"), out=Sum("left_out"))
    bullets = Memory.objects.for_user(user).filter(Q(block__job=job) | Q(block__job__parent=job), is_topic=False)
    marks = bullets.aggregate(
        doubtful=Count("pk", filter=Q(is_unverified=True)), similar=Count("pk", filter=Q(duplicate_of__isnull=False))
    )
    # A single job says by itself that it failed.
    broken = Job.objects.for_user(user).filter(parent=job, state=Job.State.FAILED).order_by("created_at")
    by = chunks.order_by().values_list("character", "character__name").annotate(n=Sum("memories")).order_by("-n")
    found = [row for row in by if row[2]]
    return Report(
        memories=sums["memories"] or 0,
        messages=sums["messages"] or 0,
        chunks=sums["n"],
        repeated=sums["out"] or 0,
        doubtful=marks["doubtful"],
        similar=marks["similar"],
        held=HeldMemory.objects.for_user(user).filter(mine, state="waiting").count(),
        characters=found[:MOST_SHOWN],
        more_characters=max(0, len(found) - MOST_SHOWN),
        failed=[Failed(one, one.error, one.hint) for one in broken[:MOST_SHOWN]],
        failed_count=broken.count(),
    )
