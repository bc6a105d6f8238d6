"""The numbers of the timeline's drawings: bars of a density, stretches of lanes, months below them (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

WIDTH, HEIGHT = 1000, 64
MOST_BARS = 104
WEEK = timedelta(days=7)
SILENCE = timedelta(days=15)  # days between two memories from which on it is a silence


@dataclass(frozen=True)
class Bar:
    """One bar: a number of weeks (or of story dates) and how many memories fall into it."""

    x: float
    width: float
    y: float
    height: float
    count: int
    start: date | None = None
    is_shown: bool = False


@dataclass(frozen=True)
class Stretch:
    """Part of a lane."""

    x: float
    width: float


@dataclass(frozen=True)
class Scale:
    """Days to the width of a drawing; `weeks` are in one bar, so that there are never too many."""

    start: date
    end: date
    weeks: int

    @classmethod
    def over(cls, days: Iterable[date]) -> Scale | None:
        """From the Monday before the first day to the end of the last week; None without days."""
        known = sorted(days)
        if not known:
            return None
        start = _monday(known[0])
        total = (_monday(known[-1]) - start).days // 7 + 1
        weeks = -(-total // MOST_BARS)
        return cls(start, start + WEEK * weeks * -(-total // weeks), weeks)

    def x(self, day: date) -> float:
        return round(WIDTH * (day - self.start).days / (self.end - self.start).days, 1)

    def bar_of(self, day: date) -> date:
        """The first day of the bar that `day` falls into."""
        step = 7 * self.weeks
        return self.start + timedelta(days=(day - self.start).days // step * step)

    def bars(self, counts: Counter[date], shown: Iterable[date]) -> list[Bar]:
        """One bar for each stretch with memories; those that hold one of the days in `shown` are marked."""
        sums: Counter[date] = Counter()
        for day, count in counts.items():
            sums[self.bar_of(day)] += count
        marked = {self.bar_of(day) for day in shown}
        most = max(sums.values(), default=1)
        width = round(WIDTH * 7 * self.weeks / (self.end - self.start).days * 0.84, 1)
        return [
            Bar(self.x(day), width, *_tall(count, most), count, day, day in marked)
            for day, count in sorted(sums.items())
        ]

    def stretch(self, first: date, last: date) -> Stretch:
        """The days from `first` to `last`, at least as wide as can be seen."""
        start = max(first, self.start)
        end = min(max(last + timedelta(days=1), start), self.end)
        return Stretch(self.x(start), max(3.0, round(self.x(end) - self.x(start), 1)))

    def months(self) -> list[date]:
        """Up to twelve first days of months, for the words below."""
        count = (self.end.year - self.start.year) * 12 + self.end.month - self.start.month + 1
        every = -(-count // 12)
        firsts = (self.start.year * 12 + self.start.month - 1 + n for n in range(0, count, every))
        return [date(n // 12, n % 12 + 1, 1) for n in firsts]


def even_bars(counts: Sequence[int], shown: set[int]) -> list[Bar]:
    """Bars of equal width for things that have an order and no distance, as dates of a story."""
    step = WIDTH / max(1, len(counts))
    most = max(counts, default=1)
    return [
        Bar(round(n * step, 1), round(min(step * 0.84, 40), 1), *_tall(count, most), count, None, n in shown)
        for n, count in enumerate(counts)
    ]


def silences(days: Iterable[date]) -> list[tuple[date, date]]:
    """(first, last) day of each stretch without a memory between two days with some, oldest first."""
    known = sorted(set(days))
    one = timedelta(days=1)
    return [(before + one, after - one) for before, after in pairwise(known) if after - before >= SILENCE]


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _tall(count: int, most: int) -> tuple[float, float]:
    height = max(2.0, round(HEIGHT * count / most, 1))
    return HEIGHT - height, height
