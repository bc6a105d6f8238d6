"""Pairs of memories that say the same in other words, for the queue of duplicates (pure).

Different numbers or a negation on one side only make two memories different, however near their vectors are. What
words see by themselves is left to them (memories/pairs.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memories.meaning_space import Space
from memories.pairs import DUPLICATE, MEANING, MOST, Bullet, Pair
from memories.similarity import duplicates, normalise, same_facts


def pairs(space: Space, bullets: Mapping[str, Bullet], changed: Iterable[str]) -> list[Pair]:
    """The pairs that hold one of the `changed` bullets, the nearest first."""
    found: dict[frozenset[str], Pair] = {}
    for one in changed:
        for other, score in space.neighbours(one, MOST):
            if one in bullets and other in bullets and _agree(bullets[one], bullets[other]):
                older, newer = sorted((bullets[one], bullets[other]), key=lambda bullet: bullet.age)
                pair = Pair(DUPLICATE, older.id, newer.id, round(min(score, 1.0), 3), MEANING)
                found.setdefault(frozenset((one, other)), pair)
    return sorted(found.values(), key=lambda pair: -pair.score)


def _agree(one: Bullet, other: Bullet) -> bool:
    words, others = normalise(one.text), normalise(other.text)
    return same_facts(words, others) and not duplicates(words, [others], most=1)
