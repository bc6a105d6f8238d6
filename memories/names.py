"""Names in a memory that occur nowhere in its sources: invented people, places and things are flagged.

Capital letters mark names in scripts that have them; in Japanese a run of katakana does. Scripts without such a mark
(Chinese, Arabic, Hebrew, Thai…) are never flagged: no check is better than a wrong one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import regex

WORD = regex.compile(r"\p{L}[\p{L}\p{M}'’-]*")
KATAKANA = regex.compile(r"[\p{Katakana}ー]{2,}")
SENTENCE_START = regex.compile(r"(?:^|[.!?…:;]\s+|[“\"(«\[]\s*|\s[—–-]\s)$")
LOOK_BACK = 80  # characters in front of a word that tell whether it begins a sentence
POSSESSIVE = regex.compile(r"['’]s?$")
JOINTS = regex.compile(r"['’-]")
MARKS = regex.compile(r"\p{Mn}+")
STROKES = str.maketrans("łø", "lo")
# Words that are written with a capital but name nobody.
ORDINARY = frozenset(
    "i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december christmas easter english french german spanish japanese "
    "god mr mrs ms dr montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli "
    "oktober dezember lunes martes enero".split()
)
# Words that open a sentence without being a name.
OPENERS = frozenset(
    "a an the this that these those he she it they we you his her its their our your my one two three four five six "
    "seven eight nine ten several some many most all both each every another other after before during while when "
    "since until once as at by for from in into of off on onto out over to under up with without within because "
    "although though despite if then later now today yesterday tomorrow eventually finally meanwhile there here "
    "either neither no not nobody nothing somebody someone everyone everybody having being had has was were is are "
    "did does do der die das ein eine er sie es ich wir ihr sein seine nach vor bei mit als wenn während im am el la "
    "los las un una en con después antes cuando su sus le les une elle il ils elles dans avec après avant".split()
)
GERMAN = frozenset("der die das und ist nicht ein eine mit dem den von hat war sich auf für des".split())


class SourceWords:
    """All words of the sources, ready for questions; build it once for many bullets."""

    def __init__(self, sources: Iterable[str]) -> None:
        self.text = "\n".join(sources)
        folded = set(WORD.findall(_plain(self.text)))
        joined = {word for word in folded if not word.isalpha()}
        self.words = folded | {POSSESSIVE.sub("", word) for word in joined}
        self.words |= {part for word in joined for part in JOINTS.split(word) if len(part) > 1}
        self._by_start: dict[str, list[str]] = {}
        for word in self.words:
            self._by_start.setdefault(word[:3], []).append(word)

    def knows(self, name: str) -> bool:
        """Whether the word, or a form of it with another ending, stands in the sources."""
        word = _fold(name)
        if word in self.words or (KATAKANA.fullmatch(name) and name in self.text):
            return True
        parts = [part for part in JOINTS.split(word) if len(part) > 1]
        if len(parts) > 1 and all(part in self.words for part in parts):
            return True
        stem = word[: max(3, len(word) - 2)]
        return any(
            other.startswith(stem) or (len(other) > 3 and word.startswith(other[: max(4, len(other) - 2)]))
            for other in self._by_start.get(word[:3], ())
            if abs(len(other) - len(word)) <= 3
        )

    def unknown(self, text: str) -> list[str]:
        """The names of `text` that these sources do not hold."""
        return [name for name in candidates(text) if not self.knows(name)]


def candidates(text: str) -> list[str]:
    """Words of `text` that look like names, in order, each once."""
    found = [match[0] for match in KATAKANA.finditer(text)]
    words = list(WORD.finditer(text))
    nouns_have_capitals = sum(word[0].lower() in GERMAN for word in words) > 1
    for number, match in enumerate(words):
        word = POSSESSIVE.sub("", match[0])
        if not word[:1].isupper() or len(word) < 2 or word.lower() in ORDINARY:
            continue
        starts = SENTENCE_START.search(text[max(0, match.start() - LOOK_BACK) : match.start()]) is not None
        if starts and not _opens_with_name(word, is_last=number + 1 == len(words)):
            continue
        if nouns_have_capitals and not starts and number and words[number - 1][0].islower():
            continue  # a German noun; a name there mostly opens the sentence or follows another name
        found.append(word)
    return list(dict.fromkeys(found))


def _opens_with_name(word: str, *, is_last: bool) -> bool:
    """Whether the first word of a sentence is a name: not a common opener, and not an ordinary word by its ending."""
    if word.lower() in OPENERS or word.lower().endswith(("ing", "ly", "tion", "ness", "ed")):
        return False
    return not is_last


def _fold(word: str) -> str:
    """One case, no accents, no possessive."""
    return _plain(POSSESSIVE.sub("", word))


def _plain(text: str) -> str:
    """One case, no accents."""
    plain: str = MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return plain.translate(STROKES)
