"""Dates that a memory names itself: when something happened in the story, not when it was chatted about (pure).

Understood are 1312-03-14, 14 March 1312, March 14th, March 1312, "in the year 1312", 1312年3月14日 and "Day 12".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MONTHS = (
    "January February March April May June July August September October November December".split()
)  # a date in a memory is written by the model, in the language of the prompt
_NUMBER = {name: number for number, name in enumerate(MONTHS, 1)}
_NUMBER |= {name[:3]: number for name, number in _NUMBER.items()} | {"Sept": 9}
_MONTH = "(?P<month>" + "|".join(sorted(_NUMBER, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[1-9]\d{2,3})"
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
SHAPES = (
    re.compile(rf"(?<![\w-]){_YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\w-])"),
    re.compile(rf"{_YEAR}年(?:(?P<month>1[0-2]|[1-9])月)?(?:(?P<day>[12]\d|3[01]|[1-9])日)?"),
    re.compile(rf"(?<!\w){_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?(?!\w)"),
    re.compile(rf"(?<!\w){_MONTH} {_DAY}(?!\w)(?:,? {_YEAR}(?!\w))?"),
    re.compile(rf"(?<!\w){_MONTH},? {_YEAR}(?!\w)"),
    re.compile(rf"(?<!\w)(?:in|the) year (?:of )?{_YEAR}(?!\w)", re.IGNORECASE),
    re.compile(rf"(?<!\w)[Dd]ay (?P<nth>\d{{1,4}}|{'|'.join(_WORDS)})(?!\w)"),
)
# What every shape has in it: most memories name no date, and this finds that out at once.
_HINT = re.compile(rf"\d-\d\d-\d|年|(?i:year )|[Dd]ay |{'|'.join(name[:3] for name in MONTHS)}")


@dataclass(frozen=True, order=True)
class StoryDate:
    """A date of the story as far as it is named; 0 stands for a part that is not. `nth` counts days of the story.

    Sorted, dates without a year come first, then years, then days of the story.
    """

    nth: int = 0
    year: int = 0
    month: int = 0
    day: int = 0

    def __str__(self) -> str:
        if self.nth:
            return f"Day {self.nth}"
        parts = (str(self.day or ""), MONTHS[self.month - 1] if self.month else "", str(self.year or ""))
        return " ".join(part for part in parts if part)


def find_date(text: str) -> StoryDate | None:
    """The first date that `text` names, None without one."""
    if not _HINT.search(text):
        return None
    found = [match for shape in SHAPES if (match := shape.search(text))]
    if not found:
        return None
    first = min(found, key=lambda match: (match.start(), -match.end()))
    parts = {name: _value(name, part) for name, part in first.groupdict().items() if part}
    return StoryDate(**parts)


def _value(name: str, part: str) -> int:
    if name == "month" and not part.isdecimal():
        return _NUMBER[part]
    return _WORDS.index(part) + 1 if part in _WORDS else int(part)
