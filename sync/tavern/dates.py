"""Every form of date that SillyTavern has written into chats (spec/sillytavern §4)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

EARLIEST, LATEST = 1990, 2200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
HUMANISED = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(\d{1,2})s(?:\s*(\d{1,3})ms)?", re.ASCII
)
WORDED = re.compile(
    r"([A-Za-z]{3,9})\s+(\d{1,2}),?\s+(\d{4})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]m)?", re.ASCII | re.I
)
JS_STRING = re.compile(
    r"[A-Za-z]{3} ([A-Za-z]{3}) (\d{1,2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT([+-])(\d{2})(\d{2})(?: \(.{0,80}\))?",
    re.ASCII,
)
DIGITS = re.compile(r"\d{9,16}(?:\.\d{1,9})?", re.ASCII)
# "10:02:33", "20m 50s", or milliseconds since 1970 (spec/sillytavern §4).
SECONDS = re.compile(r"\d:\d\d:\d\d|\dm ?\d+s|\d{12,}")


def parse_date(raw: Any) -> datetime | None:
    """The moment that a `send_date` names, in UTC; None when it names none between 1990 and 2200.

    Humanised and worded dates carry no zone and count as UTC, as SillyTavern's own parser takes them.
    """
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, int | float):
        return _from_milliseconds(raw)
    if not isinstance(raw, str) or len(raw) > 200:
        return None
    text = raw.strip()
    try:
        return _within(_from_text(text))
    except (ValueError, OverflowError):
        return None


def is_exact(raw_date: str) -> bool:
    """Whether a date tells two messages apart by itself: it names the second, not only the minute."""
    return SECONDS.search(raw_date) is not None


def date_in_name(name: str) -> datetime | None:
    """The creation time inside a chat's file name (`<Name> - 2026-11-29@17h34m18s342ms`), if there is one."""
    found = HUMANISED.search(name[:600])
    return parse_date(found.group()) if found else None


def _from_text(text: str) -> datetime | None:
    if DIGITS.fullmatch(text):
        return _from_milliseconds(float(text))
    if text[10:11] in {"T", " "} and text[:4].isdigit():
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if found := HUMANISED.fullmatch(text):
        *parts, milliseconds = found.groups()
        year, month, day, hour, minute, second = (int(part) for part in parts)
        return datetime(year, month, day, hour, minute, second, int(milliseconds or 0) * 1000, tzinfo=UTC)
    if found := WORDED.fullmatch(text):
        return _worded(*found.groups())
    if found := JS_STRING.fullmatch(text):
        return _js_string(*found.groups())
    return None


def _worded(month: str, day: str, year: str, hour: str, minute: str, second: str | None, half: str | None) -> datetime:
    hours = int(hour)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError("no such hour")
        hours = hours % 12 + (12 if half.lower() == "pm" else 0)
    return datetime(int(year), _month(month), int(day), hours, int(minute), int(second or 0), tzinfo=UTC)


def _js_string(
    month: str, day: str, year: str, hour: str, minute: str, second: str, sign: str, off_hours: str, off_minutes: str
) -> datetime:
    local = datetime(int(year), _month(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    offset = timedelta(hours=int(off_hours), minutes=int(off_minutes))
    return local - offset if sign == "+" else local + offset


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _from_milliseconds(number: float) -> datetime | None:
    try:
        return _within(EPOCH + timedelta(milliseconds=number))
    except (OverflowError, ValueError):
        return None


def _within(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    moment = moment.astimezone(UTC)
    return moment if EARLIEST <= moment.year <= LATEST else None
