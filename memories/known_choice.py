"""Which known memories, and which sentences of the card, go into a prompt about a stretch of messages (pure).

All of them when they fit. Otherwise locked ones, then the newest few, then those closest to the messages: BM25 over
stems, or pairs of letters in scripts without spaces, so that a rare name weighs much and one that stands in every
memory nothing. Two neighbouring sentences are asked at a time: who brings up something old does it in one breath, while
words that a whole stretch happens to share with a memory say little.

Where something can tell what texts mean (memories/meaning.py), every third memory that is added is the one closest in
meaning; the others are found by words as ever, so that a meaning that misleads costs a third of the room at most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import regex

from memories.evidence import COMMON, SENTENCE

Measure = Callable[[str], int]
Meaning = Callable[[Sequence[str]], Sequence[float] | None]  # of the messages: how close each memory is; None: unknown
NEWEST = 12
NEWEST_SHARE = 0.25  # of the room, at most, for the newest; the rest is for the closest
WORN = 0.1  # a word in more than this share of the memories says nothing about which one is meant
MANY = 40  # memories from which on words can be worn
SATURATION, LENGTH, USUAL_LENGTH = 1.2, 0.4, 10.0  # BM25's k1 and b, and the words of a memory
BULLET = 2  # tokens of "- " and the line's end
MISSES = 8  # memories in a row that are too long for what is left, before the rest is not looked at
BY_WORDS = 2  # memories that words choose before meaning chooses one
GAP = " […] "
STEM = 6  # letters of a word that count: endings do not
KEPT = 8  # files whose words are remembered
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Hangul}]")
ASCII = re.compile(r"[a-z0-9]+")
HIRAGANA = regex.compile(r"\p{Hiragana}")
RUN = regex.compile(
    r"\p{Han}+|\p{Hiragana}+|[\p{Katakana}ー]+|\p{Thai}+|\p{Hangul}+"
    r"|[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}]]+",
    regex.V1,
)


class Index:
    """The words of many short texts, ready to be asked which of them a stretch is about; texts can be added."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: list[str] = []
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        for place, text in enumerate(texts, len(self.texts)):
            own = terms(text)
            norm = SATURATION * (1 - LENGTH + LENGTH * len(own) / USUAL_LENGTH)
            for word, times in own:
                self._postings.setdefault(word, []).append((place, times * (SATURATION + 1) / (times + norm)))
            self.texts.append(text)

    def closeness(self, messages: Iterable[str]) -> list[float]:
        """For each text how much a message is about it: the weight of the words that two neighbouring sentences share
        with it, the more so the fewer texts that message is closer to. 0 when nothing tells texts apart."""
        best = [0.0] * len(self.texts)
        for message in messages:
            found = self._of_message(message)
            most = max(found.values(), default=0.0)
            for place, score in found.items():
                weighed = score * score / most
                if weighed > best[place]:
                    best[place] = weighed
        return best

    def _of_message(self, message: str) -> dict[int, float]:
        best: dict[int, float] = {}
        before: dict[int, float] = {}
        said: set[str] = set()
        for sentence in SENTENCE.findall(message):
            words = {word for word, _times in terms(sentence) if word in self._postings}
            own = self._scores(words)
            further = own if said.isdisjoint(words) else self._scores(words - said)
            for place, score in own.items():
                both = max(score, before.get(place, 0.0) + further.get(place, 0.0))
                if both > best.get(place, 0.0):
                    best[place] = both
            before, said = own, words
        return best

    def _scores(self, words: Iterable[str]) -> dict[int, float]:
        found: dict[int, float] = {}
        count = len(self.texts)
        most = WORN * count if count >= MANY else count
        for word in sorted(words):  # in one order: sums of fractions depend on it
            places = self._postings[word]
            if len(places) > most:
                continue
            rarity = math.log(1 + (count - len(places) + 0.5) / (len(places) + 0.5))
            for place, share in places:
                found[place] = found.get(place, 0.0) + rarity * share
        return found


def choose(
    known: Sequence[str],
    messages: Sequence[str],
    limit: int,
    measure: Measure,
    locked: Collection[int] = (),
    meaning: Meaning | None = None,
) -> list[int]:
    """Places of the memories to show within `limit` tokens, rising: file order is kept.

    `locked` are places of memories that a person locked: they come first of all, the newest of them when not even they
    fit. `meaning` is asked only when not all fit.
    """
    if measure("\n- ".join(known)) + BULLET <= limit:
        return list(range(len(known)))
    sizes = _Sizes(known, measure)
    chosen: dict[int, None] = {}
    used = _take(sorted(locked, reverse=True), sizes, limit, chosen, 0)
    newest = [place for place in range(len(known) - 1, -1, -1) if place not in chosen][:NEWEST]
    used = _take(newest, sizes, used + int((limit - used) * NEWEST_SHARE), chosen, used)
    closeness = _closeness(known, messages)
    near = meaning(messages) if meaning is not None else None
    rest = [place for place in range(len(known)) if place not in chosen]
    by_words = sorted(rest, key=lambda place: (-closeness[place], -place))
    if near is None or len(near) != len(known):
        _take(by_words, sizes, limit, chosen, used)
    else:
        by_meaning = sorted(rest, key=lambda place: (-near[place], -place))
        _take(_in_turns(by_words, by_meaning), sizes, limit, chosen, used)
    return sorted(chosen)


def _in_turns(by_words: Sequence[int], by_meaning: Sequence[int]) -> Iterator[int]:
    """Each place once: two of the one order, then one of the other."""
    given: set[int] = set()
    words = (place for place in by_words if place not in given)
    meant = (place for place in by_meaning if place not in given)
    while len(given) < len(by_words):
        for source, count in ((words, BY_WORDS), (meant, 1)):
            for place in islice(source, count):
                given.add(place)
                yield place


def choose_card(card: str, messages: Iterable[str], limit: int, measure: Measure) -> str:
    """The card within `limit` tokens: its beginning, which says who it is, then the sentences that the messages touch.

    Order is kept; "[…]" stands where something was left out.
    """
    if measure(card) <= limit:
        return card
    sentences = [one for one in SENTENCE.findall(card) if one.strip()]
    sizes = _Sizes(sentences, measure)
    chosen: dict[int, None] = {}
    used = _take(range(len(sentences)), sizes, limit // 2, chosen, 0, misses=1)
    closeness = Index(sentences).closeness(messages)
    rest = [place for place in range(len(sentences)) if place not in chosen]
    _take(sorted(rest, key=lambda place: (-closeness[place], place)), sizes, limit, chosen, used)
    return _joined(sentences, sorted(chosen))


class _Sizes:
    """Tokens of each text, counted when asked for."""

    def __init__(self, texts: Sequence[str], measure: Measure) -> None:
        self.texts, self.measure = texts, measure

    def __getitem__(self, place: int) -> int:
        return self.measure(self.texts[place]) + BULLET


def _take(
    places: Iterable[int], sizes: _Sizes, limit: int, chosen: dict[int, None], used: int, *, misses: int = MISSES
) -> int:
    """Add what still fits, in this order, until `misses` in a row did not; how much is used afterwards."""
    missed = 0
    for place in places:
        size = sizes[place]
        if used + size <= limit:
            chosen[place] = None
            used += size
            missed = 0
        elif (missed := missed + 1) >= misses:
            break
    return used


def _joined(sentences: Sequence[str], places: Sequence[int]) -> str:
    parts, before = [], -1
    for place in places:
        parts.append(sentences[place] if place == before + 1 else f"{GAP}{sentences[place].lstrip()}")
        before = place
    return "".join(parts).strip() + (GAP.rstrip() if before + 1 < len(sentences) else "")


_kept: list[Index] = []


def _closeness(known: Sequence[str], messages: Iterable[str]) -> list[float]:
    """Memories are mostly added at the end of a file: its words are remembered and only new ones looked at.

    An index that is in use is not in the list, so threads never share one.
    """
    texts = list(known)
    index = _taken_out(texts) or Index()
    index.add(texts[len(index.texts) :])
    found = index.closeness(messages)
    _kept.insert(0, index)
    del _kept[KEPT:]
    return found


def _taken_out(texts: list[str]) -> Index | None:
    for index in list(_kept):
        if index.texts[:1] == texts[:1] and index.texts == texts[: len(index.texts)]:
            try:
                _kept.remove(index)
            except ValueError:  # another thread was quicker
                continue
            return index
    return None


@lru_cache(maxsize=20_000)
def terms(text: str) -> tuple[tuple[str, int], ...]:
    """Stems of words that carry meaning, how often each; of scripts without spaces, letters in pairs within runs."""
    plain = text.casefold()
    runs = ASCII.findall(plain) if plain.isascii() else RUN.findall(plain)  # most sentences; ten times as fast
    found: dict[str, int] = {}
    for run in runs:
        for term in _terms_of(run):
            found[term] = found.get(term, 0) + 1
    return tuple(found.items())


def _terms_of(run: str) -> list[str]:
    if run.isascii() or not UNSPACED.match(run):
        return [run[:STEM]] if len(run) > 2 and run not in COMMON else []
    if HIRAGANA.match(run) and len(run) < 3:
        return []  # hardly ever more than grammar
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
