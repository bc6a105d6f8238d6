"""The activity log as pages, drawer and file show it: which lines somebody asks for, and each line with its links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from jobs.registry import Panel
from memories import activity_texts
from memories.activity_words import LEVELS, STEPS
from memories.memory_filters import is_uuid
from memories.models import Activity, ActivityText, ExtractionSettings
from sync.models import Character, Chat, Group

A_PAGE = 100
IN_DRAWER = 40
IN_PANEL = 5
BUSY, IDLE = 2, 10  # seconds between two looks
ROWS: dict[str, Any] = {"character": Character, "group": Group, "chat": Chat, "job": Job}
PLACES = ("character", "group", "chat", "job")


@dataclass(frozen=True)
class Asked:
    """A filter; "" leaves a field open."""

    level: str = ""
    step: str = ""
    character: str = ""
    group: str = ""
    chat: str = ""
    job: str = ""
    q: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Asked:
        """From a query string; what makes no sense is left open, what cannot exist finds nothing."""
        found = cls(**{one.name: str(query.get(one.name, "")).replace("\0", "").strip()[:200] for one in fields(cls)})
        ids = {name: value if is_uuid(value) else "" for name in PLACES if (value := getattr(found, name))}
        level, step = found.level if found.level in LEVELS else "", found.step if found.step in STEPS else ""
        return replace(found, level=level, step=step, **ids)

    def query(self, **more: str) -> str:
        """The query string of this filter with `more` in it."""
        values = {one.name: getattr(self, one.name) for one in fields(self)} | more
        return urlencode({name: value for name, value in values.items() if value})

    def rows(self, user: User) -> QuerySet[Activity]:
        """The lines, newest first; `has_full` says whether its texts are kept."""
        rows = Activity.objects.for_user(user).order_by("-pk")
        for name in ("level", "step", *PLACES):
            if value := getattr(self, name):
                rows = rows.filter(**{name: value})
        if self.q:
            rows = rows.filter(text__icontains=self.q)
        full = ActivityText.objects.for_user(user).filter(activity=OuterRef("pk"), expires_at__gt=timezone.now())
        return rows.annotate(has_full=Exists(full)).select_related("character", "group", "chat", "job")


class ActivityPage:
    """One page of the log."""

    def __init__(self, user: User, query: Mapping[str, str], *, size: int = A_PAGE) -> None:
        self.user = user
        self.asked = Asked.of(query)
        self.number = query.get("page", "1")
        self.size = size

    @cached_property
    def page(self) -> Page[Activity]:
        return Paginator(self.asked.rows(self.user), self.size).get_page(self.number)

    @cached_property
    def lines(self) -> list[Activity]:
        return list(self.page)

    @property
    def days(self) -> list[tuple[datetime, list[Activity]]]:
        """The lines by the day of the person who looks: (a moment of it, lines)."""
        grouped = groupby(self.lines, key=lambda line: timezone.localtime(line.at).date())
        return [(lines[0].at, lines) for lines in (list(group) for _day, group in grouped)]

    @cached_property
    def settings(self) -> ExtractionSettings:
        return ExtractionSettings.objects.filter(user=self.user).first() or ExtractionSettings(user=self.user)

    @cached_property
    def kept(self) -> int:
        """How many prompts and answers are kept now."""
        return ActivityText.objects.for_user(self.user).count()

    @cached_property
    def pace(self) -> int:
        """Seconds until the page looks again; never on older pages."""
        if self.page.number > 1:
            return 0
        busy = Job.objects.for_user(self.user).filter(state=Job.State.RUNNING).exists()
        return BUSY if busy else IDLE

    @property
    def levels(self) -> list[tuple[str, Any]]:
        return list(LEVELS.items())

    @property
    def steps(self) -> list[tuple[str, Any]]:
        return list(STEPS.items())

    @property
    def query(self) -> str:
        return self.asked.query()

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """What the filter's form carries along."""
        return [(name, value) for name in PLACES if (value := getattr(self.asked, name))]

    @cached_property
    def narrowed(self) -> list[tuple[str, str]]:
        """What the log is narrowed to, in words, and the query string without it."""
        found = []
        for name in PLACES:
            if value := getattr(self.asked, name):
                row = ROWS[name].objects.for_user(self.user).filter(pk=value).first()
                words = (getattr(row, "label", "") or getattr(row, "name", "")) if row else ""
                found.append((words or _("something that is gone"), self.asked.query(**{name: ""})))
        return found

    @cached_property
    def as_text(self) -> str:
        """The shown lines, to be copied."""
        return "\n".join(map(line_text, self.lines))


def line_text(line: Activity) -> str:
    """A line of the file: time, step, sentence; the names of chats stay at home."""
    at = timezone.localtime(line.at)
    return f"{at:%Y-%m-%d %H:%M:%S}  {line.level:<4}  {STEPS.get(line.step, line.step)!s:<11}  {line.text}"


def file_lines(rows: Iterable[Activity], *, with_texts: bool) -> Iterator[str]:
    """The log as a text file, with what was sent and answered where that was asked for and is kept."""
    for line in rows:
        yield line_text(line) + "\n"
        if with_texts and getattr(line, "has_full", False):
            full = activity_texts.unpack(line.full)
            for title, text in parts_of(full):
                yield f"\n--- {title} ---\n{text}\n"
            yield "\n"


def parts_of(full: activity_texts.Full) -> list[tuple[str, str]]:
    """The parts that hold something, with their titles."""
    parts = [
        (_("Instructions"), full.system),
        (_("What was sent"), full.user),
        (_("What the model thought"), full.reasoning),
        (_("What it answered"), full.answer),
    ]
    return [(title, text) for title, text in parts if text]


def panel(job: Job) -> Panel | None:
    """The last lines on a job's page; none for a job that said nothing."""
    rows = Activity.objects.for_user(job.owner).filter(job=job).order_by("-pk")
    lines = list(rows[:IN_PANEL])
    return Panel("memories/_activity_panel.html", {"activity": lines, "job_id": job.pk}) if lines else None
