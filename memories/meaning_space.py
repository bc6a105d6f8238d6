"""Vectors in little room, and which of many are near each other (pure).

Of a vector its direction is kept, one signed byte for each number. All vectors of a model lean to one side, so that any
two of them look alike; what all have in common, their mean, is taken away before they are compared. Then 0 means "no
more alike than any two here" and one threshold fits all models.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from heapq import nsmallest
from operator import gt, mul

NEAR = 0.8  # the same in other words; of pairs of one story that say different things, one in thousands comes so near
FEWEST = 8  # vectors; the mean of fewer says nothing
LOOKED = 24  # neighbours by the signs of their numbers alone that are measured exactly
ALL, SHARE = 600, 300  # of more vectors than that, only so many are measured exactly for a question
SAMPLE = 500  # vectors that the mean is taken of


def packed(numbers: Sequence[float]) -> bytes:
    """A vector as it is stored; one without a direction stays so."""
    most = max((abs(number) for number in numbers), default=0.0) or 1.0
    return array("b", [round(number / most * 127) for number in numbers]).tobytes()


class Space:
    """The vectors of many texts, by their ids. One that does not fit to the others is left out."""

    def __init__(self, rows: Iterable[tuple[str, bytes]]) -> None:
        given = [(key, array("b", data)) for key, data in rows if any(data)]
        size = next((size for size, _times in Counter(len(row) for _key, row in given).most_common(1)), 0)
        fitting = [(key, row) for key, row in given if len(row) == size]
        self.ids = [key for key, _row in fitting]
        self._rows = [row for _key, row in fitting]
        self._lengths = [_length(row) for row in self._rows]
        self._mean = self._mean_of() if len(self._rows) >= FEWEST else [0.0] * size
        self._mean_square = sum(number * number for number in self._mean)
        self._leaning = [self._leaning_of(row, length) for row, length in zip(self._rows, self._lengths, strict=True)]
        self._places = {key: place for place, key in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def nearest(self, asked: bytes, most: int) -> list[tuple[str, float]]:
        """The texts that are nearest to another vector, each with its score, -1 to 1; none when that one does not
        fit."""
        row = array("b", asked)
        if len(row) != len(self._mean) or not any(row):
            return []
        length = _length(row)
        leaning = self._leaning_of(row, length)
        places = self._alike(self._sign_of(row, length), max(SHARE, 2 * most)) if len(self) > ALL else range(len(self))
        found = [(self.ids[place], self._near(row, length, leaning, place)) for place in places]
        return sorted(found, key=lambda one: -one[1])[:most]

    def neighbours(self, key: str, most: int, least: float = NEAR) -> list[tuple[str, float]]:
        """The texts that say the same as this one, the nearest first; none among too few texts."""
        place = self._places.get(key)
        if place is None or len(self) < FEWEST:
            return []
        row, length, leaning = self._rows[place], self._lengths[place], self._leaning[place]
        alike = self._alike(self._signs[place], LOOKED + 1)
        found = [(self.ids[other], self._near(row, length, leaning, other)) for other in alike if other != place]
        return sorted((one for one in found if one[1] >= least), key=lambda one: -one[1])[:most]

    def _mean_of(self) -> list[float]:
        step = -(-len(self) // SAMPLE)
        some = zip(self._rows[::step], self._lengths[::step], strict=True)
        units = [[number / length for number in row] for row, length in some]
        return [sum(column) / len(units) for column in zip(*units, strict=True)]

    def _alike(self, sign: int, most: int) -> list[int]:
        """The places that lie on the same sides of the mean most often."""
        signs = self._signs
        return nsmallest(most, range(len(signs)), key=lambda other: (sign ^ signs[other]).bit_count())

    def _leaning_of(self, row: Sequence[int], length: float) -> float:
        """How far a direction goes along with the mean."""
        return float(sum(map(mul, row, self._mean))) / length

    def _near(self, row: Sequence[int], length: float, leaning: float, place: int) -> float:
        """The cosine of two directions without what all have in common."""
        other = self._leaning[place]
        both = float(sum(map(mul, row, self._rows[place]))) / (length * self._lengths[place])
        own_rest, other_rest = 1 - 2 * leaning + self._mean_square, 1 - 2 * other + self._mean_square
        if min(own_rest, other_rest) < 1e-9:
            return 0.0
        return (both - leaning - other + self._mean_square) / math.sqrt(own_rest * other_rest)

    @cached_property
    def _signs(self) -> list[int]:
        return [self._sign_of(row, length) for row, length in zip(self._rows, self._lengths, strict=True)]

    def _sign_of(self, row: Sequence[int], length: float) -> int:
        """On which side of the mean its numbers lie, one bit each."""
        middle = [number * length for number in self._mean]
        return int("".join("1" if one else "0" for one in map(gt, row, middle)), 2)


def _length(row: Sequence[int]) -> float:
    return math.sqrt(sum(map(mul, row, row)))
