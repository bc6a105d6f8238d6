"""Days and months as a wall clock counts them, across changes of summer time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Kind = Literal["day", "month"]


@dataclass(frozen=True)
class Period:
    """From `start` until just before `end`, both in UTC."""

    start: datetime
    end: datetime


def period(kind: Kind, now: datetime, zone: tzinfo) -> Period:
    """The day or month that `now` lies in, in `zone`.

    Where a clock jumps over midnight the day begins at the jump; where midnight comes twice, at the first one.
    """
    first = now.astimezone(zone).date()
    if kind == "day":
        return Period(midnight(first, zone), midnight(first + timedelta(days=1), zone))
    first = first.replace(day=1)
    return Period(midnight(first, zone), midnight((first + timedelta(days=32)).replace(day=1), zone))


def midnight(day: date, zone: tzinfo) -> datetime:
    """The moment at which `day` begins in `zone`."""
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


def zone_named(name: str, fallback: tzinfo = UTC) -> tzinfo:
    """The zone of this name, or `fallback`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return fallback
