"""What Settings → Spending shows: sums of a span, its days, and its parts by everything that calls differ in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import Min, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from jobs.models import Job
from providers import budgets, queries, subjects
from providers.budget_sums import Standing
from providers.ledger_filter import NONE, SPANS, UNPRICED, Asked, since
from providers.models import Call, purpose_name
from providers.periods import zone_named
from providers.queries import Share, Spending
from providers.spending_chart import Chart, chart

SHOWN = 8  # rows of a table before “more”
MOST_ROWS = 500
MOST_DAYS = 90  # of the chart


@dataclass(frozen=True)
class Row:
    """A part of the spending: its name, its page ("" for none) and its calls."""

    share: Share
    page: str
    calls: str


@dataclass(frozen=True)
class Table:
    """The parts by one property, dearest first. `more` sums up those that are left out."""

    key: str
    title: str
    head: str
    rows: list[Row]
    more: Share | None = None


class SpendingPage:
    """Everything on the page, read where it is shown."""

    def __init__(self, user: User, query: Mapping[str, str]) -> None:
        self.user = user
        self.asked = Asked(span=Asked.of(query, span="month").span)
        self.only = query.get("only", "") if query.get("only", "") in TABLES else ""

    @property
    def spans(self) -> list[tuple[str, Any, bool]]:
        """(value, words, whether it is shown)."""
        return [(value, words, value == self.asked.span) for value, words in SPANS.items()]

    @property
    def span_words(self) -> Any:
        return SPANS[self.asked.span]

    @cached_property
    def rows(self) -> QuerySet[Call]:
        return self.asked.rows(self.user).order_by()

    @cached_property
    def total(self) -> Spending:
        return queries.sums(self.rows)

    @cached_property
    def ever(self) -> bool:
        """Whether there was any call at all."""
        return bool(self.total.calls) or queries.calls(self.user).exists()

    @cached_property
    def today(self) -> Spending:
        return queries.sums(Asked(span="today").rows(self.user).order_by())

    @cached_property
    def month(self) -> Spending:
        return queries.sums(Asked(span="month").rows(self.user).order_by())

    @cached_property
    def unpriced(self) -> int:
        """Calls whose cost nobody knows; they are in no sum of money."""
        return self.rows.filter(UNPRICED).count()

    @cached_property
    def standings(self) -> list[Standing]:
        return budgets.standings_of(self.user)

    @cached_property
    def runs_out(self) -> Standing | None:
        """The person's limit of money for this month, when at this pace it is used up before the month is over."""
        month = next((one for one in self.standings if one.kind == "month" and one.unit == "money"), None)
        return month if month and month.runs_out_at(timezone.now()) else None

    @cached_property
    def runs_out_at(self) -> Any:
        return self.runs_out.runs_out_at(timezone.now()) if self.runs_out else None

    @cached_property
    def chart(self) -> Chart | None:
        """Days by purpose; none for a single day."""
        if self.asked.span == "today" or not self.total.calls:
            return None
        return chart(queries.by_day_and_purpose(self.rows), self._days(), self.calls_url_of)

    @cached_property
    def tables(self) -> list[Table]:
        """All of them, or the whole one that was asked for."""
        keys = [self.only] if self.only else list(TABLES)
        found = [_table(self, key) for key in keys]
        return [table for table in found if table.rows]

    @property
    def calls_url(self) -> str:
        return self.calls_url_of()

    @property
    def failed_url(self) -> str:
        return self.calls_url_of(failed="1")

    @property
    def unpriced_url(self) -> str:
        return self.calls_url_of(unpriced="1")

    def calls_url_of(self, **more: str) -> str:
        query = self.asked.query(**more)
        return reverse("providers:calls") + (f"?{query}" if query else "")

    def _days(self) -> list[date]:
        zone = zone_named(self.user.time_zone)
        today = timezone.now().astimezone(zone).date()
        start = since(self.user, self.asked.span) or self.rows.aggregate(first=Min("started_at"))["first"]
        count = min(MOST_DAYS, (today - start.astimezone(zone).date()).days + 1)
        return [today - timedelta(days=n) for n in range(count - 1, -1, -1)]


def _table(page: SpendingPage, key: str) -> Table:
    title, head, read = TABLES[key]
    rows = sorted(read(page), key=lambda row: (-(row.share.cost or 0), -row.share.calls))[:MOST_ROWS]
    shown = rows if page.only or len(rows) <= SHOWN + 1 else rows[:SHOWN]
    return Table(key, str(title), str(head), shown, _sum([row.share for row in rows[len(shown) :]]))


def _sum(shares: list[Share]) -> Share | None:
    if not shares:
        return None
    known = [share.cost for share in shares if share.cost is not None]
    return Share(
        len(shares),
        sum(share.calls for share in shares),
        sum(share.tokens for share in shares),
        sum(known, Decimal(0)) if known else None,
    )


def _by_subject(page: SpendingPage) -> list[Row]:
    """Characters and groups, whatever their calls were written under."""
    parts: dict[str, list[Share]] = defaultdict(list)
    for share in queries.shares(page.rows, "subject"):
        parts[subjects.head_of(share.label)].append(share)
    names = subjects.names_of(page.user, parts)
    for head in list(parts):
        if under := names[head].under:
            parts[under] = parts.get(under, []) + parts.pop(head)
    rows = []
    for head, shares in parts.items():
        whole = _sum(shares)
        named = names[head] if head else subjects.Named(_("Nothing in particular"))
        if whole is not None:
            rows.append(Row(replace(whole, label=named.label), named.url, page.calls_url_of(subject=head or NONE)))
    return rows


def _by_field(field: str, name: str, words: Callable[[Any], str] = str) -> Callable[[SpendingPage], list[Row]]:
    def read(page: SpendingPage) -> list[Row]:
        return [
            Row(
                replace(share, label=words(share.label) if share.label else _("not named")),
                "",
                page.calls_url_of(**{name: str(share.label) or NONE}),
            )
            for share in queries.shares(page.rows, field)
        ]

    return read


def _by_job(page: SpendingPage) -> list[Row]:
    """Jobs, a batch with all its parts; calls outside of jobs are one row."""
    shares = queries.shares(page.rows, "job")
    ids = [share.label for share in shares if share.label]
    parents = dict(Job.objects.for_user(page.user).filter(pk__in=ids).values_list("pk", "parent"))
    parts: dict[Any, list[Share]] = defaultdict(list)
    for share in shares:
        parts[parents.get(share.label) or share.label].append(share)
    jobs = Job.objects.for_user(page.user).in_bulk([pk for pk in parts if pk])
    return [_job_row(page, jobs.get(pk), whole) for pk, found in parts.items() if (whole := _sum(found))]


def _job_row(page: SpendingPage, job: Job | None, share: Share) -> Row:
    if job is None:
        return Row(replace(share, label=_("Without a job")), "", page.calls_url_of(job=NONE))
    url = reverse("jobs:detail", args=[job.pk])
    return Row(replace(share, label=job.label or job.kind), url, page.calls_url_of(job=str(job.pk)))


def _by_way(page: SpendingPage) -> list[Row]:
    words = {True: _("By itself"), False: _("By hand")}
    return [
        Row(replace(share, label=words[share.label]), "", page.calls_url_of(how="auto" if share.label else "hand"))
        for share in queries.shares(page.rows, "is_automatic")
    ]


TABLES: dict[str, tuple[Any, Any, Callable[[SpendingPage], list[Row]]]] = {
    "character": (gettext_lazy("By character and group"), gettext_lazy("Name"), _by_subject),
    "connection": (
        gettext_lazy("By connection"),
        gettext_lazy("Connection"),
        _by_field("connection_name", "connection"),
    ),
    "purpose": (gettext_lazy("By purpose"), gettext_lazy("What for"), _by_field("purpose", "purpose", purpose_name)),
    "model": (gettext_lazy("By model"), gettext_lazy("Model"), _by_field("model", "model")),
    "job": (gettext_lazy("By job"), gettext_lazy("Job"), _by_job),
    "way": (gettext_lazy("By itself or by hand"), gettext_lazy("How it began"), _by_way),
}
