"""Days as stacked bars, in units of an SVG's viewBox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from providers.models import purpose_name
from providers.queries import Share

WIDTH, HEIGHT = 1000, 96
LEAST = 2.0  # so that a day with one call is seen beside one with a thousand
COLOURS = ("f-l0", "f-l2", "f-l3", "f-l1")  # the purposes with most calls first; the last one is for the rest
Amount = Decimal | int


@dataclass(frozen=True)
class Piece:
    """One purpose of one day."""

    css: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Day:
    """A day with calls: its pieces from below, and where its calls are."""

    date: date
    amount: Amount
    calls: int
    url: str
    x: float
    width: float
    pieces: list[Piece]


@dataclass(frozen=True)
class Chart:
    """`legend` is (css, words) of each colour."""

    days: list[Day]
    first: date
    most: Amount
    in_money: bool
    legend: list[tuple[str, str]]


def chart(shares: Mapping[tuple[date, str], Share], days: list[date], url: Callable[..., str]) -> Chart:
    """Bars of money, or of calls where nothing cost any."""
    in_money = any(share.cost for share in shares.values())
    css = _colours(shares)
    found = []
    amounts = {key: (share.cost or 0) if in_money else share.calls for key, share in shares.items()}
    most = max((_of_day(amounts, day) for day in days), default=0)
    step = WIDTH / max(1, len(days))
    for number, day in enumerate(days):
        mine = {purpose: amount for (when, purpose), amount in amounts.items() if when == day and amount}
        if mine:
            x, width = round(number * step + step * 0.1, 1), round(step * 0.8, 1)
            calls = sum(share.calls for (when, _purpose), share in shares.items() if when == day)
            pieces = _pieces(mine, css, most, x, width)
            found.append(Day(day, sum(mine.values()), calls, url(day=str(day)), x, width, pieces))
    legend = {css[purpose]: purpose_name(purpose) for purpose in reversed(list(css))}
    return Chart(found, days[0], most, in_money, [(key, legend[key]) for key in COLOURS if key in legend])


def _colours(shares: Mapping[tuple[date, str], Share]) -> dict[str, str]:
    """A colour for each purpose, the busiest first."""
    calls: dict[str, int] = {}
    for (_day, purpose), share in shares.items():
        calls[purpose] = calls.get(purpose, 0) + share.calls
    order = sorted(calls, key=lambda purpose: (-calls[purpose], purpose))
    return {purpose: COLOURS[min(number, len(COLOURS) - 1)] for number, purpose in enumerate(order)}


def _of_day(amounts: Mapping[tuple[date, str], Amount], day: date) -> Amount:
    return sum(amount for (when, _purpose), amount in amounts.items() if when == day)


def _pieces(mine: Mapping[str, Amount], css: Mapping[str, str], most: Amount, x: float, width: float) -> list[Piece]:
    top = float(HEIGHT)
    pieces = []
    for purpose in _in_order(mine, css):
        height = max(LEAST, round(float(HEIGHT * mine[purpose] / most), 1))
        top = round(max(0.0, top - height), 1)
        pieces.append(Piece(css[purpose], x, top, width, height))
    return pieces


def _in_order(mine: Mapping[str, Amount], css: Mapping[str, str]) -> Iterable[str]:
    return (purpose for purpose in css if purpose in mine)
