"""Which calls of the ledger somebody asks for: the query string of the pages under Spending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from providers import queries, subjects
from providers.ledger import UNFINISHED
from providers.models import Call, purpose_name
from providers.periods import period, zone_named

SPANS = {
    "today": gettext_lazy("Today"),
    "7": gettext_lazy("7 days"),
    "30": gettext_lazy("30 days"),
    "month": gettext_lazy("This month"),
    "all": gettext_lazy("Always"),
}
NONE = "none"  # the value that asks for calls without a job, a subject or a model
FAILED = ~Q(error_type="") & ~Q(error_type=UNFINISHED)
UNPRICED = Q(cost=None) & ~Q(error_type=UNFINISHED)


@dataclass(frozen=True)
class Asked:
    """A filter; "" leaves a field open. `how` is "auto" or "hand"."""

    span: str = "all"
    purpose: str = ""
    connection: str = ""
    model: str = ""
    job: str = ""
    subject: str = ""
    how: str = ""
    failed: str = ""
    unpriced: str = ""
    day: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str], span: str = "all") -> Asked:
        """From a query string; what makes no sense is left open."""
        fields = {name: str(query.get(name, ""))[:200].replace("\0", "") for name in cls.__dataclass_fields__}
        asked = replace(cls(**fields), span=fields["span"] if fields["span"] in SPANS else span)
        job = asked.job if asked.job == NONE or _uuid(asked.job) else ""
        return replace(asked, job=job, day=asked.day if _day(asked.day) else "")

    def query(self, **more: str) -> str:
        """The query string of this filter with `more` in it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__} | more
        return urlencode({name: value for name, value in fields.items() if value and (name, value) != ("span", "all")})

    def rows(self, user: User) -> QuerySet[Call]:
        """The calls, newest first."""
        rows = queries.calls(user, since(user, self.span))
        fields = {"purpose": self.purpose, "connection_name": self.connection, "model": self.model}
        for name, value in fields.items():
            if value:
                rows = rows.filter(**{name: "" if value == NONE else value})
        if self.job:
            rows = rows.filter(Q(job=None) if self.job == NONE else Q(job=self.job) | Q(job__parent=self.job))
        if self.subject:
            rows = rows.filter(Q(subject="") if self.subject == NONE else subjects.calls_about(user, self.subject))
        if self.how:
            rows = rows.filter(is_automatic=self.how == "auto")
        if self.failed:
            rows = rows.filter(FAILED)
        if self.unpriced:
            rows = rows.filter(UNPRICED)
        if (day := _day(self.day)) is not None:
            rows = rows.filter(started_at__date=day)
        return rows

    def said(self, user: User) -> str:
        """The filter in words."""
        words = [
            str(SPANS[self.span]) if self.span != "all" else "",
            purpose_name(self.purpose),
            "" if self.connection == NONE else self.connection,
            _("model not named") if self.model == NONE else self.model,
            self._job_words(),
            self._subject_words(user),
            {"auto": _("by itself"), "hand": _("by hand")}.get(self.how, ""),
            _("failed") if self.failed else "",
            _("price unknown") if self.unpriced else "",
            self.day,
        ]
        return ", ".join(word for word in words if word)

    def _job_words(self) -> str:
        return "" if not self.job else _("without a job") if self.job == NONE else _("one job")

    def _subject_words(self, user: User) -> str:
        if not self.subject or self.subject == NONE:
            return _("nothing in particular") if self.subject else ""
        return subjects.names_of(user, [self.subject])[self.subject].label


def since(user: User, span: str, now: datetime | None = None) -> datetime | None:
    """When a span begins for this person; None for always."""
    now = now or timezone.now()
    zone = zone_named(user.time_zone)
    if span == "month":
        return period("month", now, zone).start
    days = {"today": 0, "7": 6, "30": 29}.get(span)
    if days is None:
        return None
    here = now.astimezone(zone)
    return period("day", here - timedelta(days=days), zone).start


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None
