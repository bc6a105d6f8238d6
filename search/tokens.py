"""Text to words, for the index and for what a person types, the same on every database engine. Pure.

A word is a run of letters, digits and marks: compatibility forms unified (NFKC), case folded, accents of Latin, Greek,
Cyrillic, Hebrew and Arabic letters dropped, cut at 40 letters. Scripts without blanks between words (Chinese, Japanese,
Korean, Thai, Lao, Khmer, Burmese) become overlapping pairs: 海边的 is 海边 and 边的, so 海边 is found where it stands.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import regex

LONGEST_WORD = 40
MOST_WORDS = 16_000  # of one row; PostgreSQL keeps no positions above 16,383
RUN = regex.compile(r"[\p{L}\p{N}\p{M}]+")
WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")
NO_BLANKS = (  # with the long mark, the repeat marks and the sound marks of kana, which belong to several scripts
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"ー々〆\u3099\u309a\uff70\uff9e\uff9f"
)
PART = regex.compile(rf"(?P<pairs>[{NO_BLANKS}]+)|[^{NO_BLANKS}]+")
SINGLE = regex.compile(rf"[{NO_BLANKS}]")
MARKS = regex.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})
PLAIN = regex.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Token:
    """One word as the index knows it, and where it stands in the text (`text[start:end]`)."""

    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """The form in which words are compared: "Ólafur" and "OLAFUR" are "olafur"."""
    if text.isascii():
        return text.lower()
    whole = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", MARKS.sub("", whole).translate(STROKES))


def tokens(text: str) -> Iterator[Token]:
    """All words of a text in order."""
    for run in RUN.finditer(text):
        if run.group().isascii():
            yield Token(run.group().lower()[:LONGEST_WORD], run.start(), run.end())
            continue
        for part in PART.finditer(run.group()):
            start = run.start() + part.start()
            if part["pairs"] is None:
                for word in WORD.findall(fold(part.group())):
                    yield Token(word[:LONGEST_WORD], start, start + len(part.group()))
            else:
                yield from _pairs(part.group(), start)


def words(text: str) -> list[str]:
    """The words of a text, without their places."""
    if text.isascii():
        return [word[:LONGEST_WORD] for word in PLAIN.findall(text.lower())]
    return [token.word for token in tokens(text)]


def index_text(text: str) -> str:
    """What the index stores of a row: its words with blanks between, then each single letter of the scripts that
    became pairs, so that a question of one letter finds it too."""
    found = words(text)[:MOST_WORDS]
    if text.isascii():
        return " ".join(found)
    whole = " ".join(found)
    singles = set(SINGLE.findall(whole)) - set(found)
    return " ".join([whole, *sorted(singles)]) if singles else whole


def _pairs(run: str, start: int) -> Iterator[Token]:
    """Overlapping pairs of a run; a run of one letter is that letter."""
    letters = _letters(run, start)
    if len(letters) == 1:
        yield letters[0]
    for one, two in pairwise(letters):
        yield Token(one.word + two.word, one.start, two.end)


def _letters(run: str, start: int) -> list[Token]:
    """Each letter with the marks that belong to it (half-width kana with their sound marks, Thai vowels)."""
    found: list[Token] = []
    for cluster in regex.finditer(r"[ｦ-ﾟ][ﾞﾟ]?|\P{M}\p{M}*|\p{M}+", run):
        for letter in WORD.findall(fold(cluster.group())):
            found.append(Token(letter, start + cluster.start(), start + cluster.end()))
    return found
