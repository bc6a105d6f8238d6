"""Reads of connections and the ledger, person first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Avg, Case, Count, F, FilteredRelation, Max, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from accounts.models import User
from jobs.models import Job
from providers.ledger import UNFINISHED
from providers.models import Call, Connection, Duty, ModelListing

TOKENS = Coalesce(F("prompt_tokens"), 0) + Coalesce(F("completion_tokens"), 0)


@dataclass(frozen=True)
class Spending:
    """Calls, tokens and money of one person since a moment. `cost` is None while no call had a known price."""

    calls: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Share:
    """A part of the spending: of one day, purpose or connection."""

    label: Any
    calls: int
    tokens: int
    cost: Decimal | None


def connections(user: User) -> QuerySet[Connection]:
    """A person's connections, the default one first, then by name."""
    return Connection.objects.for_user(user).order_by("-is_default", "name", "created_at")


def default_connection(user: User) -> Connection | None:
    """The connection that does everything unless another one is named: the default, else the oldest one."""
    rows = Connection.objects.for_user(user).order_by("-is_default", "created_at")
    return next(iter(_held(user, rows[:1])), None)


def connection_for(user: User, purpose: str) -> Connection | None:
    """The connection that does this (purposes.py): the one that was chosen, else the default. One query."""
    return next(iter(_held(user, _doing(user, purpose)[:1])), None)


def order_for(user: User, purpose: str) -> list[Connection]:
    """Who is asked: the connection that does this, then those that step in when it is down. One query."""
    rows = _held(user, _doing(user, purpose))
    return [*rows[:1], *sorted(filter(_place, rows[1:]), key=_place)]


def duties(user: User) -> QuerySet[Duty]:
    """What was given to connections, purpose by purpose in the order of asking."""
    return Duty.objects.for_user(user).order_by("purpose", "place")


def _doing(user: User, purpose: str) -> QuerySet[Connection]:
    """All connections with their place in this purpose, whoever does it first."""
    duty = FilteredRelation("duties", condition=Q(duties__purpose=purpose))
    rows = Connection.objects.for_user(user).annotate(duty=duty).annotate(duty_place=F("duty__place"))
    chosen = Case(When(duty_place=0, then=Value(0)), default=Value(1))
    return rows.order_by(chosen, "-is_default", "created_at")


def _place(row: Any) -> int:
    """Where a row of `_doing` stands among those that step in; 0 for the one that does it, and for all others."""
    return row.duty_place or 0


def _held(user: User, rows: Iterable[Connection]) -> list[Connection]:
    """The rows with their owner at hand, who is asked for at every call."""
    found = list(rows)
    for row in found:
        row.owner = user
    return found


def calls(user: User, since: datetime | None = None) -> QuerySet[Call]:
    """Ledger rows, newest first."""
    rows = Call.objects.for_user(user).order_by("-started_at")
    return rows.filter(started_at__gte=since) if since else rows


def kept_list(connection: Connection) -> ModelListing | None:
    """The models that a connection of this person offered when it was last asked."""
    return ModelListing.objects.for_user(connection.owner).filter(connection=connection).first()


def lately_used(connection: Connection, *, days: int = 30, most: int = 5) -> list[str]:
    """The models that its owner asked through it in the last days, the latest first."""
    rows = calls(connection.owner, timezone.now() - timedelta(days=days)).filter(connection=connection)
    named = rows.exclude(model="").order_by().values("model").annotate(last=Max("started_at")).order_by("-last")
    return [row["model"] for row in named[:most]]


def start_of_today() -> datetime:
    """Midnight in the time zone of the person who looks."""
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def spending(user: User, since: datetime) -> Spending:
    """Sums since `since`."""
    return sums(calls(user, since))


def sums(rows: QuerySet[Call]) -> Spending:
    """Sums of ledger rows that the caller may see."""
    found = rows.aggregate(
        n=Count("pk"),
        bad=Count("pk", filter=~Q(error_type="") & ~Q(error_type=UNFINISHED)),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        money=Sum("cost"),
    )
    return Spending(found["n"], found["bad"], found["prompt"] or 0, found["completion"] or 0, found["money"])


def by_day_and_purpose(rows: QuerySet[Call]) -> dict[tuple[date, str], Share]:
    """A share for each day (in the time zone of the person who looks) and purpose that had calls."""
    grouped = rows.order_by().annotate(day=TruncDate("started_at")).values("day", "purpose")
    found = grouped.annotate(n=Count("pk"), tokens=Sum(TOKENS), money=Sum("cost"))
    return {
        (row["day"], row["purpose"]): Share(row["day"], row["n"], row["tokens"] or 0, row["money"]) for row in found
    }


def shares(rows: QuerySet[Call], by: str) -> list[Share]:
    """Parts of ledger rows by one of their fields, most calls first; connections that are gone keep theirs."""
    grouped = rows.order_by().values(by).annotate(n=Count("pk"), tokens=Sum(TOKENS), money=Sum("cost"))
    return [Share(row[by], row["n"], row["tokens"] or 0, row["money"]) for row in grouped.order_by("-n", by)]


def answer_times(user: User, since: datetime) -> dict[Any, tuple[float | None, Decimal | None]]:
    """Mean seconds of good answers and money, for each connection id."""
    good = Q(error_type="")
    rows = calls(user, since).order_by().values("connection_id")
    rows = rows.annotate(mean=Avg("seconds", filter=good), money=Sum("cost"))
    return {row["connection_id"]: (row["mean"], row["money"]) for row in rows}


def calls_of_job(job: Job) -> tuple[Spending, list[Call]]:
    """Sums and the newest calls of a job that the caller holds."""
    rows = job.calls.order_by("-started_at")
    total = sums(rows)
    return total, list(rows[:20])


def costs_of_jobs(job_ids: Iterable[Any], user: User) -> dict[Any, tuple[int, Decimal | None]]:
    """Calls and money for each job id that had any: one query."""
    rows = Call.objects.for_user(user).filter(job__in=list(job_ids)).order_by().values("job_id")
    found = rows.annotate(n=Count("pk"), money=Sum("cost"))
    return {row["job_id"]: (row["n"], row["money"]) for row in found}
