"""When two memories say the same: exactly after normalisation, or nearly (rapidfuzz)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex
from rapidfuzz import fuzz, process

NEAR = 88.0  # rapidfuzz score, 0 to 100; below it two bullets usually differ in a fact
NOT_WORDS = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
NUMBERS = regex.compile(r"\p{N}+")
NEGATIONS = frozenset(
    {
        *("not", "no", "never", "none", "nobody", "nothing", "nie", "nein", "nicht", "kein", "keine"),
        *("pas", "jamais", "nunca", "non", "mai", "não", "не", "ни", "никогда"),
    }
)


@dataclass(frozen=True)
class Match:
    """`position` in the list that was searched; `score` 0 to 100; exact means equal after normalisation."""

    position: int
    score: float
    is_exact: bool


@lru_cache(maxsize=20_000)
def normalise(text: str) -> str:
    """Letters and digits only, one case, single spaces."""
    plain: str = NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return plain.strip()


def find_duplicate_normalised(text: str, known: Sequence[str]) -> Match | None:
    """The best duplicate of `text` among `known`, or None; all texts went through `normalise` already.

    Different numbers or a negation on one side only make two bullets different, however alike they look.
    """
    return next(iter(duplicates(text, known, most=1)), None)


def duplicates(text: str, known: Sequence[str], *, most: int = 5) -> list[Match]:
    """The duplicates of `text` among `known`, best first; all texts went through `normalise` already."""
    if not text:
        return []
    if most == 1 and text in known:
        return [Match(known.index(text), 100.0, True)]
    found: dict[int, Match] = {}
    # Word order does not matter; scripts without spaces need the plain ratio.
    for scorer in (fuzz.token_sort_ratio, fuzz.ratio):
        for other, score, position in process.extract(text, known, scorer=scorer, score_cutoff=NEAR, limit=5):
            if position not in found and same_facts(text, other):
                found[position] = Match(position, float(score), text == other)
        if most == 1 and found:
            break
    return sorted(found.values(), key=lambda one: -one.score)[:most]


def same_facts(one: str, other: str) -> bool:
    """Whether neither has a number or a negation that the other lacks; both went through `normalise` already."""
    return _facts(one) == _facts(other)


def _facts(text: str) -> tuple[list[str], bool]:
    return sorted(NUMBERS.findall(text)), any(word in NEGATIONS for word in text.split())
