"""Dates of blocks: a moment on somebody's wall clock, or the span of several (pure).

A block that was made of others keeps the span of its sources: "2026-02-15 14:30 to 2026-03-01 09:05". A day without a
time stays a day. At most 40 characters, as the date="" attribute has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOMENT = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2})?(?::\d{2})?"
SPAN = re.compile(rf"\s*({MOMENT})\s*(?:(?:to|until|bis|–|—|-|/|\.\.\.?|…)\s*({MOMENT})\s*)?")
JOIN = " to "
LONGEST = 40


@dataclass(frozen=True)
class Span:
    """From the first to the last moment, as "YYYY-MM-DD" or "YYYY-MM-DD HH:MM"; both equal for a single moment."""

    first: str
    last: str

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first}{JOIN}{self.last}"


def parse(date: str) -> Span | None:
    """The span that a date="" attribute means; None when it is no date of that form."""
    match = SPAN.fullmatch(date)
    if match is None:
        return None
    first, last = _moment(match[1]), _moment(match[2] or match[1])
    return Span(min(first, last), max(first, last))


def merge(dates: Iterable[str]) -> str:
    """The span of all dates that can be read; with none of these, the text that all of them share, else ""."""
    given = [date.strip() for date in dates if date.strip()]
    spans = [span for span in map(parse, given) if span is not None]
    if not spans:
        return given[0][:LONGEST] if given and len(set(given)) == 1 else ""
    return str(Span(min(span.first for span in spans), max(span.last for span in spans)))


def _moment(text: str) -> str:
    """Without seconds and without the T of ISO dates."""
    return text.replace("T", " ")[:16]
