"""Memories and cards as sources: which of them is most like a bullet (pure)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memories.quality_index import Index
from memories.quality_names import Vocabulary

STEP = 100  # an index of many texts is kept for as long as their number stays below the next multiple of it
BEST = 6  # texts that hold most of a bullet and are looked at both ways


@dataclass(frozen=True)
class Likeness:
    """The text most like a bullet: its place, how much of the bullet it holds, how much of it the bullet holds."""

    place: int = -1
    held: float = 0.0
    back: float = 0.0

    @property
    def score(self) -> float:
        return math.sqrt(self.held * self.back)


@lru_cache(maxsize=32)
def _kept(texts: tuple[str, ...], expected: str) -> tuple[Index, Vocabulary]:
    return Index(texts, expected), Vocabulary(texts)


class Source:
    """Some texts; those to which some are added now and then need not be indexed anew for each chunk of a chat."""

    def __init__(self, texts: Sequence[str], expected: str) -> None:
        cut = len(texts) - len(texts) % STEP
        rest = tuple(texts[cut:])
        parts = [(0, *_kept(tuple(texts[:cut]), expected))] if cut else []
        parts.append((cut, Index(rest, expected), Vocabulary(rest)))
        self._parts = [(start, index) for start, index, _vocabulary in parts]
        self.vocabularies = [vocabulary for _start, _index, vocabulary in parts]

    @property
    def words(self) -> list[frozenset[str]]:
        """The words of each text."""
        return [words for _start, index in self._parts for words in index.words]

    def likest(self, weights: Mapping[str, float], language: str, weight_of: Callable[[str], float]) -> Likeness:
        """The text that is most like a bullet, both ways; `weights` are those of the bullet's words."""
        found = [_likest(start, index, weights, language, weight_of) for start, index in self._parts]
        return max(found, key=lambda one: one.score)

    def held(self, words: Iterable[str], language: str, place: int | None = None) -> dict[str, float]:
        """How surely each word stands in the text at a place, or in any."""
        found = dict.fromkeys(words, 0.0)
        for start, index in self._parts:
            if place is not None and not start <= place < start + len(index.words):
                continue
            there = None if place is None else index.words[place - start]
            for word in found:
                for other, value in index.like(word, language).items():
                    if value > found[word] and (there is None or other in there):
                        found[word] = value
        return found


def _likest(
    start: int, index: Index, weights: Mapping[str, float], language: str, weight_of: Callable[[str], float]
) -> Likeness:
    total = sum(weights.values()) or 1.0
    scores: dict[int, float] = {}
    for word, weight in weights.items():
        for place, value in index.holders(word, language).items():
            scores[place] = scores.get(place, 0.0) + weight * value
    found = Likeness()
    for place in sorted(scores, key=lambda place: (-scores[place], place))[:BEST]:
        there = index.words[place]
        matched: dict[str, float] = {}
        for word in weights:
            for other, value in index.like(word, language).items():
                if other in there and value > matched.get(other, 0.0):
                    matched[other] = value
        whole = sum(map(weight_of, there)) or 1.0
        back = min(1.0, sum(weight_of(other) * value for other, value in matched.items()) / whole)
        one = Likeness(start + place, scores[place] / total, back)
        found = max(found, one, key=lambda like: like.score)
    return found
