"""Texts as the quality gate compares them: folded words, their language, their meanings across languages (pure)."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import regex

from memories.quality_languages import FUNCTION_WORDS

HERE = Path(__file__).resolve().parent
LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "’": "'"})
WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’ʼ-][\p{L}\p{M}\p{N}]+)*")
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]")
UNSPACED_RUN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]+")
SCRIPTS = (
    ("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),
    ("ko", regex.compile(r"\p{Hangul}")),
    ("zh", regex.compile(r"\p{Han}")),
    ("ar", regex.compile(r"\p{Arabic}")),
    ("he", regex.compile(r"\p{Hebrew}")),
    ("th", regex.compile(r"\p{Thai}")),
    ("el", regex.compile(r"\p{Greek}")),
    ("hi", regex.compile(r"\p{Devanagari}")),
)
LATIN = regex.compile(r"\p{Latin}")
CYRILLIC = regex.compile(r"\p{Cyrillic}")
CYRILLIC_LANGUAGES = ("ru", "uk")
# Letters that tell a language by themselves, where its small words do not.
TELLING = {
    **dict.fromkeys("ğşı", "tr"),
    **dict.fromkeys("łżźśćńęą", "pl"),
    **dict.fromkeys("ñ¿¡", "es"),
    **dict.fromkeys("ß", "de"),
    **dict.fromkeys("ãõ", "pt"),
    **dict.fromkeys("ěřů", "cs"),
    **dict.fromkeys("іїєґ", "uk"),
    **dict.fromkeys("ыэё", "ru"),
}
ELISION = regex.compile(r"^(?:[cdjlmnst]|qu|all|dell|nell|sull|dall|quest|un)'(?=\p{L}{2})")
POSSESSIVE = regex.compile(r"'s?$")


@lru_cache(maxsize=50_000)
def fold(text: str) -> str:
    """Small letters without accents; voiced kana and Hangul keep their marks."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in folded if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", bare).translate(LETTERS)


STOP = {language: frozenset(map(fold, words)) for language, words in FUNCTION_WORDS.items()}
ALL_STOP = frozenset(word for words in STOP.values() for word in words)
# Which languages a small word speaks for.
SPEAKS_FOR = {word: tuple(code for code in STOP if word in STOP[code]) for word in ALL_STOP}


@lru_cache(maxsize=20_000)
def language_of(text: str, expected: str = "") -> str:
    """The language a text is most likely in, as a code of FUNCTION_WORDS or SCRIPTS.

    Where nothing tells, it is the `expected` one if the script fits, otherwise "".
    """
    cyrillic = 0
    if not text.isascii():
        latin, cyrillic = len(LATIN.findall(text)), len(CYRILLIC.findall(text))
        for code, letters in SCRIPTS:
            found = len(letters.findall(text))
            if 2 * found > latin + cyrillic or (code == "ja" and found > 3):
                return code
        cyrillic = max(0, cyrillic - latin)
    words = WORD.findall(fold(text))
    codes = CYRILLIC_LANGUAGES if cyrillic else [code for code in STOP if code not in CYRILLIC_LANGUAGES]
    votes: dict[str, float] = dict.fromkeys(codes, 0)
    for word in words:
        for code in SPEAKS_FOR.get(word, ()):
            if code in votes:
                votes[code] += 1
    lowered = "" if text.isascii() else text.lower()
    for letter in TELLING.keys() & set(lowered):
        if TELLING[letter] in votes:
            votes[TELLING[letter]] += 0.5 * lowered.count(letter)
    if expected in votes:
        votes[expected] += EXPECTED
    best = max(votes, key=lambda code: votes[code])
    return best if votes[best] and (best == expected or votes[best] >= 0.12 * len(words)) else ""


LETTER_PAIRS = frozenset({"ja", "zh", "th"})  # languages whose words are compared as pairs of letters
EXPECTED = 1.1  # votes for the language of the chat: a little more than one small word
MEANING_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "tr", "cjk")  # order of the columns


class WordSet:
    """Words, some of which stand for all that begin with them ("walk*"), and phrases joined by hyphens."""

    def __init__(self, words: Iterable[str]) -> None:
        folded = [fold(word) for word in words]
        spaced = [word for word in folded if not UNSPACED.search(word)]
        self.parts = tuple(word for word in folded if UNSPACED.search(word) or regex.search(r"\p{Hangul}", word))
        self.exact = frozenset(word for word in spaced if not word.endswith("*"))
        self.starts = frozenset(word[:-1] for word in spaced if word.endswith("*"))
        self.lengths = tuple(sorted({len(word) for word in self.starts}, reverse=True))
        self.phrases = tuple(word.replace("-", " ") for word in self.exact if "-" in word)

    def holds(self, word: str) -> bool:
        """Whether a folded word is one of these."""
        return word in self.exact or not self.starts.isdisjoint({word[:length] for length in self.lengths})


@cache
def cues() -> dict[str, dict[str, WordSet]]:
    """The words of quality_cues.txt by kind and language; "" holds those of all languages together."""
    found: dict[str, dict[str, WordSet]] = {}
    everything: dict[str, list[str]] = {}
    kind = ""
    for line in (HERE / "quality_cues.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            kind = line[1 : line.index("]")]
            found[kind], everything[kind] = {}, []
        elif kind and ": " in line:
            code, words = line.split(": ", 1)
            found[kind][code] = WordSet(words.split())
            everything[kind] += words.split()
    for kind, words_of_kind in everything.items():
        found[kind][""] = WordSet(words_of_kind)
    return found


@dataclass(frozen=True)
class Meanings:
    """One language's column of quality_concepts.txt: whole words and beginnings, longest first, with their lines."""

    exact: dict[str, frozenset[int]]
    starts: dict[str, frozenset[int]]
    lengths: tuple[int, ...]

    def of(self, word: str, most: int) -> frozenset[int]:
        """The lines of a word: an exact entry, otherwise its longest known beginning, `most` letters shorter."""
        if word in self.exact:
            return self.exact[word]
        for length in self.lengths:
            if length <= len(word) <= length + (most if length > 3 else 3) and word[:length] in self.starts:
                return self.starts[word[:length]]
        return frozenset()


@cache
def _columns() -> dict[str, Meanings]:
    """The meanings by language; "" holds those of all languages together."""
    rows = [line.split("|") for line in (HERE / "quality_concepts.txt").read_text("utf-8").splitlines() if "|" in line]
    codes = [code.strip() for code in MEANING_LANGUAGES]
    rows = [row for row in rows if len(row) == len(codes)]
    columns = {code: _column([row[place] for row in rows]) for place, code in enumerate(codes)}
    return columns | {"": _column([" ".join(row) for row in rows])}


def _column(cells: list[str]) -> Meanings:
    exact: dict[str, set[int]] = {}
    starts: dict[str, set[int]] = {}
    for number, cell in enumerate(cells):
        for word in fold(cell).split():
            place = starts if word.endswith("*") else exact
            place.setdefault(word.removesuffix("*"), set()).add(number)
    lengths = tuple(sorted({len(word) for word in starts}, reverse=True))
    return Meanings(
        {word: frozenset(numbers) for word, numbers in exact.items()},
        {word: frozenset(numbers) for word, numbers in starts.items()},
        lengths,
    )


_reading = threading.Lock()


def read_lists() -> None:
    """Have the word lists at hand: many threads that begin at once wait for one of them instead of all reading."""
    with _reading:
        cues()
        _columns()


@lru_cache(maxsize=50_000)
def meanings(word: str, language: str, most: int = 6) -> frozenset[int]:
    """The meanings of a folded word in a language; in a language without a column, those it may have in any."""
    columns = _columns()
    if UNSPACED.search(word):
        found = (numbers for part, numbers in columns["cjk"].exact.items() if part in word)
        return frozenset(number for numbers in found for number in numbers)
    return columns.get(language, columns[""]).of(word, most)


@dataclass(frozen=True)
class Text:
    """A text's words that carry meaning, folded, in order, without numbers; `raw` as they were written."""

    language: str
    words: tuple[str, ...]
    raw: tuple[str, ...]


@lru_cache(maxsize=20_000)
def read(text: str, expected: str = "") -> Text:
    """The words of a text; those of scripts without spaces as pairs of letters."""
    language = language_of(text, expected)
    stop = STOP.get(language, ALL_STOP if not language else frozenset())
    pairs = [pair for match in WORD.finditer(text) for pair in _pieces(match[0], stop)]
    return Text(language, tuple(word for word, _raw in pairs), tuple(raw for _word, raw in pairs))


@lru_cache(maxsize=50_000)
def _pieces(raw: str, stop: frozenset[str]) -> Sequence[tuple[str, str]]:
    if UNSPACED.search(raw):
        return [(pair, pair) for run in UNSPACED_RUN.findall(raw) for pair in _pairs(run)]
    word = POSSESSIVE.sub("", fold(raw).replace("ʼ", "'"))
    word = ELISION.sub("", word)
    if word in stop:
        return []
    if "-" not in word and "'" not in word:
        return [(word, raw)] if len(word) > 1 and not word.isdecimal() else []
    parts = zip(regex.split("['-]", word), regex.split("['’ʼ-]", raw), strict=False)
    return [(part, piece) for part, piece in parts if part not in stop and len(part) > 1 and not part.isdecimal()]


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [pair for pair in pairs if not regex.fullmatch(r"\p{Hiragana}{2}", pair)]


@lru_cache(maxsize=100_000)
def _is_cue(word: str, kind: str, language: str) -> bool:
    return cues()[kind][language].holds(word)


@lru_cache(maxsize=4_000)
def found_cues(text: str, kind: str, language: str) -> tuple[str, ...]:
    """The words of a text that are cues of a kind; the language's own list where there is one, else all of them."""
    by_language = cues()[kind]
    if language in ("ja", "zh", "ko", "th"):
        return tuple(part for part in by_language["cjk"].parts if part in text)
    known = by_language.get(language, by_language[""])
    raw = WORD.findall(text)
    # A capital within a sentence marks a name, except in German.
    is_named = [place > 0 and word[:1].isupper() and language != "de" for place, word in enumerate(raw)]
    words = [fold(word) for word, named in zip(raw, is_named, strict=True) if not named]
    whole = f" {' '.join(words)} "
    key = language if language in by_language else ""
    single = [word for word in words if _is_cue(word, kind, key)]
    return (*single, *(phrase for phrase in known.phrases if f" {phrase} " in whole))
