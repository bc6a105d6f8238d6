"""Kinds of job that only tests know: small chunks with effects that can be counted.

Registered by `use_test_kinds()`; the settings of the process tests do it when the app is ready.
"""

from __future__ import annotations

import time
from datetime import timedelta

from django.utils import timezone

from jobs.models import JobEvent
from jobs.registry import JobKind, kinds, register
from jobs.run import MORE, JobFailed, JobPaused, JobRun, Outcome, done

STEP = 0.05  # seconds between two questions of a slow chunk


def count_up(run: JobRun) -> Outcome:
    """One effect for each chunk: a line in the log and one step, in one transaction.

    `slow` seconds a chunk; with `pause` the first try waits that many seconds before anything happens.
    """
    run.check()
    if run.job.attempts == 1 and (pause := run.params.get("pause")):
        raise JobPaused(timezone.now() + timedelta(seconds=pause), "A pause was asked for.")
    end = time.monotonic() + run.params.get("slow", 0)
    while time.monotonic() < end:
        run.check()
        time.sleep(STEP)
    with run.commit():
        JobEvent.objects.create(job=run.job, level="effect", text=str(run.job.step))
        run.progress(step=run.job.step + 1)
    return MORE if run.job.step < run.job.total else done({"text": f"Counted to {run.job.step}."})


def fall(run: JobRun) -> Outcome:
    """Fails with a sentence."""
    raise JobFailed("The tide was out.", hint="Wait for the tide.", error_type="Tide")


def stumble(run: JobRun) -> Outcome:
    """Breaks in a way nobody foresaw, with private text in the error."""
    secret = "the walnut cake was poisoned"
    raise ValueError(secret)


def use_test_kinds() -> None:
    """Make the kinds known; registering twice changes nothing."""
    for name, call in (("count", count_up), ("fall", fall), ("stumble", stumble)):
        register(JobKind(name, name.title(), call))


def forget_test_kinds() -> None:
    """Take them out again."""
    for name in ("count", "fall", "stumble"):
        kinds.pop(name, None)
