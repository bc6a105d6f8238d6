"""Whether a consolidation kept what there was (pure): every source has exactly one fate, every new bullet its sources.

kept     it stands there word for word, or nearly
merged   a new bullet says it together with others: claimed by the model, and borne out by words, names and numbers
dropped  left out on purpose, with a reason
missing  none of these; the nearest new bullet is named

What the model claims is never enough: a bullet that shares too little with a source does not hold it, so one that was
dropped while another was invented under its id is still missing by name, and the invented one has no source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memories.evidence import terms
from memories.names import SourceWords, candidates
from memories.similarity import NEGATIONS, NUMBERS, find_duplicate_normalised, normalise

# Words that deny as much as a "not" does: a merged sentence often words it so.
DENYING = NEGATIONS | frozenset(
    "without cannot unable refuse refused refuses lack lacks lacked forbid forbids forbade forbidden avoid avoids "
    "avoided neither nor deny denied denies fail failed fails stop stopped stops t ohne sans sin senza".split()
)
UNCLAIMED = 0.8  # share of a source's words that a bullet must hold which does not claim it
CLOSE = 4  # bullets looked at for the same wording
IN_WORDS = {
    **{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9"},
    **{"ten": "10", "eleven": "11", "twelve": "12", "once": "1", "twice": "2"},
}


@dataclass(frozen=True)
class Strictness:
    """When a bullet counts as holding a source: the share of the source's weighted words in it, the share of its own
    words that stand in the sources it claims, and whether the source's numbers must stand in it."""

    share: float = 0.5
    grounded: float = 0.5
    needs_numbers: bool = True


BY_STRATEGY = {
    "consolidation_conservative": Strictness(0.6),
    "consolidation_balanced": Strictness(0.5),
    "consolidation_aggressive": Strictness(0.4, grounded=0.45, needs_numbers=False),
}


@dataclass(frozen=True)
class Result:
    """A new bullet and the sources that it claims."""

    text: str
    claims: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fate:
    """What became of a source: "kept", "merged", "dropped" or "missing". `into` are positions of new bullets;
    `nearest` is the position and score (0 to 1) of the new bullet that comes closest to a missing one."""

    fate: str
    into: tuple[int, ...] = ()
    reason: str = ""
    nearest: tuple[int, float] | None = None


@dataclass(frozen=True)
class Conservation:
    """The fate of each source, and for each new bullet the sources it really holds (none: it was invented)."""

    fates: dict[str, Fate]
    sources: list[list[str]] = field(default_factory=list)

    def count(self, fate: str) -> int:
        """How many sources had this fate."""
        return sum(one.fate == fate for one in self.fates.values())

    @property
    def missing(self) -> list[str]:
        """The ids of the missing ones, in the order of the sources."""
        return [source for source, one in self.fates.items() if one.fate == "missing"]

    @property
    def invented(self) -> list[int]:
        """Positions of new bullets without any source."""
        return [place for place, sources in enumerate(self.sources) if not sources]


def check(
    sources: Mapping[str, str],
    results: Sequence[Result],
    dropped: Mapping[str, str] | None = None,
    strictness: Strictness | None = None,
) -> Conservation:
    """The fate of every source (id → text) in `results`; `dropped` gives the reasons of those left out on purpose."""
    scale = _Scale(sources, results, strictness or Strictness())
    claimed: defaultdict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(results):
        for source in one.claims:
            claimed[source].append(place)
    reasons = dropped or {}
    fates = {one: _fate(scale, one, claimed[one], reasons.get(one, "").strip()) for one in sources}
    held: list[list[str]] = [[] for _one in results]
    for source, fate in fates.items():
        for place in fate.into:
            held[place].append(source)
    return Conservation(fates, held)


def _fate(scale: _Scale, source: str, claimed: Sequence[int], reason: str) -> Fate:
    shares = scale.shares(source)
    nearest = sorted(shares, key=lambda place: (-shares[place], place))[:CLOSE]
    if (same := scale.same(source, [*claimed, *nearest])) is not None:
        return Fate("kept", (same,))
    into = tuple(place for place in claimed if scale.holds(source, place, shares, scale.strictness.share))
    if into:
        return Fate("merged", into)
    if reason:
        return Fate("dropped", reason=reason)
    unclaimed = next((place for place in nearest if scale.holds(source, place, shares, UNCLAIMED)), None)
    if unclaimed is not None:
        return Fate("merged", (unclaimed,))
    return Fate("missing", nearest=(nearest[0], round(shares[nearest[0]], 2)) if nearest else None)


class _Scale:
    """All texts prepared for comparing; rare words weigh more, those that stand in every source weigh little."""

    def __init__(self, sources: Mapping[str, str], results: Sequence[Result], strictness: Strictness) -> None:
        self.strictness = strictness
        self.results = results
        self.texts = dict(sources)
        self.plain = [normalise(one.text) for one in results]
        self.terms = {source: terms(text) for source, text in sources.items()}
        self.spread = Counter(word for found in self.terms.values() for word in found)
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        self.made = [set(terms(one.text)) for one in results]
        self.exact: dict[str, int] = {}
        self._known: dict[int, SourceWords] = {}
        for place, words in enumerate(self.made):
            self.exact.setdefault(self.plain[place], place)
            for word in words:
                self.places[word].append(place)

    def shares(self, source: str) -> dict[int, float]:
        """For each new bullet that shares a word with the source: how much of the source's weight it holds."""
        wanted = {word: 1 / self.spread[word] for word in self.terms[source]}
        total = sum(wanted.values())
        found: defaultdict[int, float] = defaultdict(float)
        for word, weight in wanted.items():
            for place in self.places.get(word, ()):
                found[place] += weight / total
        return found

    def same(self, source: str, places: Iterable[int]) -> int | None:
        """The new bullet that has the source's wording, or holds it as a part; None when there is none."""
        plain = normalise(self.texts[source])
        if not plain:
            return None
        if plain in self.exact:
            return self.exact[plain]
        for place in places:
            other = self.plain[place]
            if f" {plain} " in f" {other} " or find_duplicate_normalised(plain, [other]) is not None:
                return place
        return None

    def holds(self, source: str, place: int, shares: Mapping[int, float], least: float) -> bool:
        """Whether the bullet bears the source out: enough of its words, one of its names, its numbers, no reversal."""
        text, other = self.texts[source], self.results[place].text
        if shares.get(place, 0) < least - 1e-9:
            return False
        if self._grounded(source, place) < self.strictness.grounded:
            return False
        names = candidates(text)
        if names and not any(self._words_of(place).knows(name) for name in names):
            return False
        if self.strictness.needs_numbers and not _numbers(text) <= _numbers(other, in_words=True):
            return False
        return not self._is_reversed(source, place)

    def _grounded(self, source: str, place: int) -> float:
        """The share of the bullet's weighted words that stand in what it claims; a word of no source weighs full."""
        own = {word: 1 / max(1, self.spread[word]) for word in self.made[place]}
        known = set().union(*(self.terms[one] for one in self._claims(source, place)))
        return sum(weight for word, weight in own.items() if word in known) / (sum(own.values()) or 1)

    def _claims(self, source: str, place: int) -> set[str]:
        """What the bullet can have its words from: what it claims; all sources when it claims none."""
        claims = self.results[place].claims & self.texts.keys()
        return {source, *claims} if claims else set(self.texts)

    def _words_of(self, place: int) -> SourceWords:
        if place not in self._known:
            self._known[place] = SourceWords([self.results[place].text])
        return self._known[place]

    def _is_reversed(self, source: str, place: int) -> bool:
        """A "not" that got lost, or that none of the bullet's sources has."""
        before = _words(self.texts[source])
        after = _words(self.results[place].text)
        if before & NEGATIONS and not after & DENYING:
            return True
        together = set().union(*(_words(self.texts[one]) for one in self._claims(source, place)))
        return bool(after & NEGATIONS) and not together & DENYING


def _words(text: str) -> set[str]:
    return set(normalise(text).split())


def _numbers(text: str, *, in_words: bool = False) -> set[str]:
    plain = normalise(text)
    found = set(NUMBERS.findall(plain))
    return found | {IN_WORDS[word] for word in plain.split() if in_words and word in IN_WORDS}
