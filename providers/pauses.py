"""How long a server asks us to wait: in a header, in its error object, or in its own words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

LONGEST_PAUSE = 24 * 3600.0
_SECONDS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "s": 1.0, "h": 3600.0, "d": 86400.0}
_LEAD = re.compile(r"(?:try again|retry|wait)\D{0,30}", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s{0,3}(ms|min|m|s|h|d)[a-z]{0,6}(?![a-z])(?:[\s,]{1,3}(?:and\s)?)?", re.IGNORECASE
)

_YEAR_2001 = 1e9  # seconds since 1970; a smaller number is no moment of today
_ALLOWANCES = tuple(
    (f"{family}-remaining{what}", f"{family}-reset{what}")
    for family in ("x-ratelimit", "ratelimit")
    for what in ("", "-requests", "-tokens")
) + tuple(
    (f"anthropic-ratelimit-{what}-remaining", f"anthropic-ratelimit-{what}-reset")
    for what in ("requests", "tokens", "input-tokens", "output-tokens")
)


def asked_pause(headers: Mapping[str, str], data: Any, said: str, now: datetime | None = None) -> float | None:
    """Seconds until the next try; None when nothing is said about it.

    `data` is the error's JSON, if it was any: Google writes {"retryDelay": "34s"} among its details, OpenRouter repeats
    the other side's X-RateLimit-Reset (milliseconds since 1970). `said` are the words: "try again in 1m12.5s".
    """
    now = now or datetime.now(UTC)
    if milliseconds := headers.get("retry-after-ms", ""):
        return _bounded(_number(milliseconds) / 1000)
    if header := headers.get("retry-after", ""):
        return parse_retry_after(header, now)
    for delay in _delays(data):
        if (seconds := _duration(delay)) is not None:
            return _bounded(seconds)
    if (moment := _number(_reset_in(data))) == moment:
        return _bounded(moment / 1000 - now.timestamp())
    lead = _LEAD.search(said)
    seconds = _duration(said, lead.end()) if lead else None
    return None if seconds is None else _bounded(seconds)


def parse_retry_after(value: str, now: datetime | None = None) -> float | None:
    """Seconds to wait from a Retry-After header: a number of seconds or an HTTP date; None when it is neither."""
    seconds = _number(value)
    return _bounded(seconds if seconds == seconds else _seconds_until(value.strip(), now or datetime.now(UTC)))


def pause_until_reset(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds until a used-up allowance is there again, by the headers that name what is left of it; None without any.

    OpenAI and Groq write durations ("6m0s"), Anthropic moments, OpenRouter milliseconds since 1970, others seconds.
    Where nothing is used up, one was too small for this request: the one that is full again first.
    """
    now = now or datetime.now(UTC)
    allowances = [(headers.get(left, ""), headers.get(reset, "")) for left, reset in _ALLOWANCES]
    known = [(_number(left), _seconds_to(reset, now)) for left, reset in allowances if reset]
    good = [(left, seconds) for left, seconds in known if seconds == seconds]
    used_up = [seconds for left, seconds in good if left <= 0]
    if used_up:
        return _bounded(max(used_up))
    return _bounded(min(seconds for _left, seconds in good)) if good else None


def _seconds_to(reset: str, now: datetime) -> float:
    """Seconds until what a header calls the reset; NaN when it cannot be read."""
    number = _number(reset)
    if number > _YEAR_2001 * 1000:
        return number / 1000 - now.timestamp()
    if number > _YEAR_2001:
        return number - now.timestamp()
    if number == number:
        return number
    if (seconds := _duration(reset.strip())) is not None:
        return seconds
    try:
        moment = datetime.fromisoformat(reset.strip())
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now.timestamp()


def _bounded(seconds: float) -> float | None:
    """Not negative, at most a day; None for NaN, which stands for what could not be read."""
    return None if seconds != seconds else min(max(0.0, seconds), LONGEST_PAUSE)


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _seconds_until(text: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return float("nan")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def _duration(text: str, start: int = 0) -> float | None:
    """The amounts of time that stand one after the other at `start`."""
    total, at = 0.0, start
    while found := _AMOUNT.match(text, at):
        unit = found[2].lower()
        total += float(found[1]) * _SECONDS[unit if unit in _SECONDS else unit[:2]]
        at = found.end()
    return total if at > start else None


def _delays(data: Any) -> Iterator[str]:
    details = _error(data).get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            yield detail["retryDelay"]


def _reset_in(data: Any) -> Any:
    metadata = _error(data).get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    return headers.get("X-RateLimit-Reset") if isinstance(headers, dict) else None


def _error(data: Any) -> dict[str, Any]:
    error = data.get("error") if isinstance(data, dict) else None
    return error if isinstance(error, dict) else {}
