"""Whether a memory says something that its sources do not: numbers, and hardly a word of it (pure).

Names are looked at by memories/names.py. A model words things anew, so a memory counts as without ground only when
nearly none of its words, in whatever form, stands in any source; and a number only when it is no small one, which may
stand there as a word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import regex

from memories.evidence import COMMON, UNSPACED, WORD

NUMBER = regex.compile(r"(?<![\p{L}\p{N}])\d{1,3}(?:[.,’' ]\d{3})+(?!\d)|\d+")
SMALL = 99  # numbers up to here are often written as words
LEAST_WORDS = 3
GROUND = 0.25  # share of its words that a memory must have from its sources


def numbers(text: str) -> list[str]:
    """The numbers of a text that are written in digits and no small ones, without their separators, each once."""
    found = ("".join(filter(str.isdecimal, match[0])) for match in NUMBER.finditer(text))
    return list(dict.fromkeys(one for one in found if int(one) > SMALL))


def strange_numbers(text: str, known: Collection[str]) -> list[str]:
    """The numbers of a memory that no source has; `known` are those of the sources."""
    return [one for one in numbers(text) if one not in known]


def is_groundless(text: str, names: Sequence[str], knows: Callable[[str], bool]) -> bool:
    """Whether nearly no word of the memory besides names stands in the sources, as `knows` tells."""
    if UNSPACED.search(text):
        return False  # words cannot be told apart; evidence compares letters in pairs
    called = {part for name in names for part in WORD.findall(name.casefold())}
    words = {word for word in WORD.findall(text.casefold()) if len(word) > 3}
    words = {word for word in words if word not in COMMON and word not in called and not word.isdecimal()}
    return len(words) >= LEAST_WORDS and sum(map(knows, words)) < GROUND * len(words)
