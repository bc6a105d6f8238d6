"""Texts that a bullet is compared with, in whatever form and wording: stems, compounds, meanings (pure).

How alike two words are, 0 to 1: the same or another ending of it 1, a part of a compound 0.8, the same meaning 0.75,
a shared Chinese letter 0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import regex

from memories.quality_text import UNSPACED, meanings, read

SAME, COMPOUND, MEANING, LETTER = 1.0, 0.8, 0.75, 0.4
LEAST_PART = 5  # letters of a word that may be a part of a compound
OFTEN = 0.4  # words in more of many texts than this share say nothing about one of them
MANY = 20
FEW = 120  # texts in which single letters of a word are looked for: a card, a chunk of messages, not a long memory


def _start(word: str) -> str:
    return word[:2] if HANGUL.match(word) else word[:3]


# Languages that put much behind a stem.
HAN = regex.compile(r"\p{Han}")
HANGUL = regex.compile(r"\p{Hangul}")
LONG_ENDINGS = frozenset({"tr", "ko"})


def same_stem(one: str, other: str, language: str = "") -> bool:
    """Whether two words are forms of one: a long common beginning and different endings."""
    if one == other:
        return True
    shorter, longer = sorted((len(one), len(other)))
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    if HANGUL.match(one):
        return common >= 2 or common == shorter
    if shorter <= 3:
        return common == shorter and longer - shorter <= 1 and shorter == 3
    if language in LONG_ENDINGS:
        return common >= 4 or common == shorter
    if common == shorter >= 5:
        return longer - common <= 5
    return common >= max(4 if longer > 5 else 3, 0.6 * longer) and longer - common <= 5


class Index:
    """Some texts, ready to be asked how much of a bullet each of them holds."""

    def __init__(self, texts: Sequence[str], expected: str = "") -> None:
        read_texts = [read(text, expected) for text in texts]
        self.words = [frozenset(one.words) for one in read_texts]
        self._language = {word: one.language for one in read_texts for word in one.words}
        self.places: dict[str, list[int]] = {}
        for place, words in enumerate(self.words):
            for word in words:
                self.places.setdefault(word, []).append(place)
        self._by_start: dict[str, list[str]] = {}
        self._by_meaning: dict[int, list[str]] = {}
        self._long: dict[str, list[str]] = {}
        self._by_letter: dict[str, list[str]] = {}
        for word in self.places:
            self._enter(word)
        self._found: dict[tuple[str, str], dict[str, float]] = {}

    def _enter(self, word: str) -> None:
        for meaning in meanings(word, self._language[word]):
            self._by_meaning.setdefault(meaning, []).append(word)
        if UNSPACED.search(word):
            for letter in HAN.findall(word):
                self._by_letter.setdefault(letter, []).append(word)
            return
        self._by_start.setdefault(_start(word), []).append(word)
        if len(word) > LEAST_PART + 2:
            for at in range(1, len(word) - LEAST_PART + 1):
                self._long.setdefault(word[at : at + LEAST_PART], []).append(word)

    def like(self, word: str, language: str) -> dict[str, float]:
        """The words of these texts that are like a word of `language`, and how much."""
        key = (word, language)
        if key not in self._found:
            self._found[key] = self._like(word, language)
        return self._found[key]

    def _like(self, word: str, language: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for meaning in meanings(word, language):
            found.update(dict.fromkeys(self._by_meaning.get(meaning, ()), MEANING))
        if UNSPACED.search(word):
            letters = HAN.findall(word) if len(self.words) <= FEW else []
            shared = {other: LETTER for letter in letters for other in self._by_letter.get(letter, ())}
            return shared | found | ({word: SAME} if word in self.places else {})
        if len(word) >= LEAST_PART:
            found.update({other: COMPOUND for other in self._long.get(word[:LEAST_PART], ()) if word[:-1] in other})
            for at in range(3, len(word) - LEAST_PART + 1):
                for other in self._by_start.get(word[at : at + 3], ()):
                    if len(other) >= LEAST_PART and word[at:].startswith(other[:-1]):
                        found[other] = COMPOUND
        for other in self._by_start.get(_start(word), ()):
            if same_stem(word, other, language):
                found[other] = SAME
        return found

    def held(self, words: Iterable[str], language: str) -> dict[str, dict[int, float]]:
        """For each word the texts that hold it, and how surely."""
        return {word: self.holders(word, language) for word in words}

    def holders(self, word: str, language: str) -> dict[int, float]:
        """The texts that hold a word, and how surely; words that stand in so many that they tell nothing are left
        out."""
        found: dict[int, float] = {}
        for other, value in self.like(word, language).items():
            places = self.places[other]
            if len(self.words) > MANY and len(places) > OFTEN * len(self.words):
                continue
            for place in places:
                if value > found.get(place, 0.0):
                    found[place] = value
        return found
