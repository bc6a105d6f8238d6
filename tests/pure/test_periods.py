"""A day is from midnight to midnight on somebody's own wall, whatever summer time does to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.periods import midnight, period, zone_named

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Africa/Cairo", "America/Havana",
         "Pacific/Kiritimati", "Australia/Lord_Howe", "Pacific/Apia"]  # fmt: skip


@pytest.mark.parametrize(
    ("zone", "now", "start", "hours"),
    [
        ("Europe/Berlin", "2026-03-29T12:00", "2026-03-28T23:00", 23),  # clocks go forward
        ("Europe/Berlin", "2026-10-25T12:00", "2026-10-24T22:00", 25),  # and back
        ("Africa/Cairo", "2026-04-24T12:00", "2026-04-23T22:00", 23),  # forward at midnight itself
        ("America/Havana", "2026-11-01T12:00", "2026-11-01T04:00", 25),  # midnight comes twice: the first
        ("America/New_York", "2026-12-01T04:59", "2026-11-30T05:00", 24),  # still November in New York
        ("Asia/Kolkata", "2026-11-30T18:30", "2026-11-30T18:30", 24),
    ],
)
def test_days_begin_at_the_midnight_of_the_person(zone: str, now: str, start: str, hours: int) -> None:
    found = period("day", datetime.fromisoformat(now).replace(tzinfo=UTC), ZoneInfo(zone))
    assert found.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert found.end - found.start == timedelta(hours=hours)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_a_month_ends_when_the_next_one_begins_there(zone: str) -> None:
    found = period("month", datetime(2026, 12, 1, 2, tzinfo=UTC), ZoneInfo(zone))
    names = [one.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M") for one in (found.start, found.end)]
    month = 11 if zone == "America/New_York" else 12
    assert names == [f"2026-{month}-01 00:00", "2026-12-01 00:00" if month == 11 else "2027-01-01 00:00"]


@given(
    now=st.datetimes(datetime(2000, 1, 1), datetime(2035, 1, 1)).map(lambda one: one.replace(tzinfo=UTC)),
    name=st.sampled_from(ZONES),
    kind=st.sampled_from(["day", "month"]),
)
def test_every_moment_is_in_its_period_and_periods_follow_each_other(now: datetime, name: str, kind: str) -> None:
    zone = ZoneInfo(name)
    found = period(kind, now, zone)  # type: ignore[arg-type]
    assert found.start <= now < found.end
    assert period(kind, found.end, zone).start == found.end  # type: ignore[arg-type]


def test_an_unknown_zone_counts_as_the_fallback() -> None:
    assert zone_named("Nowhere/Land") is UTC
    assert zone_named("../etc", ZoneInfo("Asia/Tokyo")) == ZoneInfo("Asia/Tokyo")
    assert midnight(datetime(2026, 1, 1).date(), zone_named("Asia/Tokyo")) == datetime(2025, 12, 31, 15, tzinfo=UTC)
