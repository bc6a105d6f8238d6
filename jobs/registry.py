"""What kinds of background work exist, and what runs by the clock. Apps register theirs in `ready()`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.models import Job
    from jobs.run import JobRun, Outcome


@dataclass(frozen=True)
class JobKind:
    """One kind of job.

    `run` does one chunk of work and says whether there is more (jobs/run.py); `title` is shown to people;
    `page` gives the address of what the job is about, or "" when there is none.
    """

    kind: str
    title: str
    run: Callable[[JobRun], Outcome]
    page: Callable[[Job], str] = lambda job: ""


@dataclass(frozen=True)
class Periodic:
    """Something that happens every `seconds` seconds on one worker. Must be cheap when there is nothing to do."""

    name: str
    seconds: float
    call: Callable[[], None]


kinds: dict[str, JobKind] = {}
periodics: dict[str, Periodic] = {}


def register(kind: JobKind) -> None:
    """Make a kind of job known."""
    kinds[kind.kind] = kind


def every(seconds: float, name: str, call: Callable[[], None]) -> None:
    """Have `call` run every `seconds` seconds under the name `name`."""
    periodics[name] = Periodic(name, seconds, call)
