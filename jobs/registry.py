"""What kinds of background work exist, and what runs by the clock. Apps register theirs in `ready()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uuid

    from jobs.models import Job
    from jobs.run import JobRun, Outcome


@dataclass(frozen=True)
class JobKind:
    """One kind of job.

    `run` does one chunk of work and says whether there is more (jobs/run.py); `title` is shown to people;
    `page` gives the address of what the job is about, or "" when there is none; `unit` is what its `step` and `total`
    count: "chunks", "messages", "files" or "megabytes".
    """

    kind: str
    title: str
    run: Callable[[JobRun], Outcome]
    page: Callable[[Job], str] = lambda job: ""
    unit: str = "chunks"


@dataclass(frozen=True)
class Periodic:
    """Something that happens every `seconds` seconds on one worker. Must be cheap when there is nothing to do."""

    name: str
    seconds: float
    call: Callable[[], None]


@dataclass(frozen=True)
class Panel:
    """A part of a job's page that an app above contributes: a template of that app and its context."""

    template: str
    context: dict[str, Any] = field(default_factory=dict)


BuildPanel = Callable[["Job"], Panel | None]
FactsOf = Callable[["Sequence[Job]"], Mapping["uuid.UUID", Sequence[tuple[str, str]]]]

kinds: dict[str, JobKind] = {}
periodics: dict[str, Periodic] = {}


def register(kind: JobKind) -> None:
    """Make a kind of job known."""
    kinds[kind.kind] = kind


def every(seconds: float, name: str, call: Callable[[], None]) -> None:
    """Have `call` run every `seconds` seconds under the name `name`."""
    periodics[name] = Periodic(name, seconds, call)


@dataclass(frozen=True)
class Start:
    """A button on the list of jobs: somewhere to start work. `url_name` is looked up when the page is drawn."""

    label: Any
    url_name: str
    icon: str


panels: list[tuple[str, BuildPanel]] = []
facts: list[FactsOf] = []
starts: list[Start] = []


def add_panel(build: BuildPanel, kind: str = "") -> None:
    """Show a panel on the page of each job of `kind` ("" = of every kind); `build` returns None for no panel.

    The job was reached through its owner, so reverse managers such as `job.calls` are open.
    """
    panels.append((kind, build))


def add_start(start: Start) -> None:
    """Show a button on the list of jobs."""
    starts.append(start)


def add_facts(look_up: FactsOf) -> None:
    """Figures beside jobs in lists, such as ("Cost so far", "7.5 ¢"): one look-up for many jobs of one person.

    Returns pairs of label and text for each job id that has any. Must take one query for all of them.
    """
    facts.append(look_up)
