"""Pairs of memories worth a person's look: near duplicates, and newer ones that may end older ones (pure).

All bullets of a file are put into an inverted index over word stems (pairs of letters in scripts without spaces), so
that a bullet is compared only with those that share something rare with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memories import superseding
from memories.similarity import duplicates, normalise

DUPLICATE, SUPERSEDED = "duplicate", "superseded"
MEANING = "meaning"  # the reason of pairs that vectors found (memories/meaning_pairs.py)
MOST = 3  # pairs of one kind that one bullet is suggested in as the newer, and as the older one
COMPARED = 60  # bullets that share most with one, looked at for duplicates
SHARED = 0.5  # least weight of shared stems
RAREST = 14  # stems of a bullet that are looked up
COMMON = 0.04  # a stem in more than this share of all bullets is not looked up…
ALWAYS = 60  # …unless so few have it


@dataclass(frozen=True)
class Bullet:
    """One memory. `age` sorts by story time, older first; it must be comparable within one index."""

    id: str
    text: str
    age: tuple[str, float, float]


@dataclass(frozen=True)
class Pair:
    """`score` 0 to 1; `reason` a key of memories/review_words.py."""

    kind: str
    older: str
    newer: str
    score: float
    reason: str


class Index:
    """The bullets of one file. `people` are names that nearly every bullet has: they say nothing about its topic."""

    def __init__(self, bullets: Iterable[Bullet], people: Iterable[str] = ()) -> None:
        self._people = {stem for name in people for stem in superseding.read(name).topics}
        self.bullets: dict[str, Bullet] = {}
        self._with: defaultdict[str, list[str]] = defaultdict(list)
        self._subjects: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._plain: dict[str, str] = {}
        self._same: defaultdict[str, list[str]] = defaultdict(list)
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Put one more bullet into the index."""
        reading = superseding.read(bullet.text)
        self.bullets[bullet.id] = bullet
        self._plain[bullet.id] = normalise(bullet.text)
        self._same[self._plain[bullet.id]].append(bullet.id)
        for stem in reading.topics:
            self._with[stem].append(bullet.id)
        for cue in superseding.BY_SUBJECT & reading.cues.keys():
            if reading.subject:
                self._subjects[cue, reading.subject].append(bullet.id)

    def discard(self, bullet_id: str) -> None:
        """Take a bullet out, for example before it is put in with other words."""
        bullet = self.bullets.pop(bullet_id, None)
        if bullet is None:
            return
        reading = superseding.read(bullet.text)
        self._same[self._plain.pop(bullet_id)].remove(bullet_id)
        for stem in reading.topics:
            self._with[stem].remove(bullet_id)
        for cue in superseding.BY_SUBJECT & reading.cues.keys():
            if reading.subject:
                self._subjects[cue, reading.subject].remove(bullet_id)

    def similar(self, bullet_id: str, most: int = 5) -> list[str]:
        """Ids of the bullets that share most with this one, best first."""
        return self._near(self.bullets[bullet_id])[:most]

    def weight(self, stem: str) -> float:
        """How telling a stem is: 1 when nobody else has it, 0 when all have it or it names one of the people."""
        if stem in self._people:
            return 0.0
        return max(0.0, 1 - math.log(max(1, len(self._with[stem]))) / math.log(len(self.bullets) + 60))

    def pairs(self) -> list[Pair]:
        """All pairs of the index."""
        return self._best(pair for bullet in self.bullets.values() for pair in self._older(bullet))

    def pairs_of(self, ids: Iterable[str]) -> list[Pair]:
        """The pairs that hold one of these bullets."""
        found: dict[tuple[str, str, str], Pair] = {}
        for bullet in (self.bullets[one] for one in ids):
            for pair in (*self._older(bullet), *self._newer(bullet)):
                found[pair.kind, pair.older, pair.newer] = pair
        return self._best(found.values())

    def _older(self, bullet: Bullet) -> list[Pair]:
        near = self._near(bullet)
        older = [one for one in near if self.bullets[one].age < bullet.age]
        return self._duplicates(bullet, older) + self._superseded(bullet, older)

    def _newer(self, bullet: Bullet) -> list[Pair]:
        near = self._near(bullet)
        found: list[Pair] = []
        for one in (other for other in near if self.bullets[other].age > bullet.age):
            newer = self.bullets[one]
            found += self._duplicates(newer, [bullet.id]) + self._superseded(newer, [bullet.id])
        return found

    def _near(self, bullet: Bullet) -> list[str]:
        """Ids of bullets that share something rare, most alike first."""
        most = max(ALWAYS, int(COMMON * len(self.bullets)))
        stems = superseding.read(bullet.text).topics
        rare = sorted((stem for stem in stems if len(self._with[stem]) <= most), key=lambda one: len(self._with[one]))
        shared: defaultdict[str, float] = defaultdict(float)
        for stem in rare[:RAREST]:
            weight = self.weight(stem)
            for other in self._with[stem]:
                shared[other] += weight
        reading = superseding.read(bullet.text)
        for cue in superseding.BY_SUBJECT & reading.cues.keys():
            for other in self._subjects[cue, reading.subject][-ALWAYS:]:
                shared[other] += SHARED
        for partner in superseding.partners(reading):
            for other in self._subjects[partner, reading.subject][-ALWAYS:]:
                shared[other] += SHARED
        for other in self._same[self._plain[bullet.id]][:ALWAYS]:
            shared[other] += 100
        shared.pop(bullet.id, None)
        return sorted((one for one, value in shared.items() if value >= SHARED), key=lambda one: -shared[one])

    def _duplicates(self, bullet: Bullet, others: list[str]) -> list[Pair]:
        others = others[:COMPARED]
        found = duplicates(self._plain[bullet.id], [self._plain[one] for one in others], most=MOST)
        return [
            Pair(DUPLICATE, others[one.position], bullet.id, one.score / 100, "same" if one.is_exact else "alike")
            for one in found
        ]

    def _superseded(self, bullet: Bullet, others: list[str]) -> list[Pair]:
        if not superseding.read(bullet.text).may_end:
            return []
        found = []
        for one in others:
            finding = superseding.supersedes(self.bullets[one].text, bullet.text, self.weight)
            if finding is not None and not self._is_said_again(one, bullet.id):
                found.append(Pair(SUPERSEDED, one, bullet.id, round(finding.score, 3), finding.reason))
        return found

    def _is_said_again(self, older: str, newer: str) -> bool:
        """A near duplicate that only adds words ends nothing."""
        before, after = self._plain[older], self._plain[newer]
        return set(before.split()) <= set(after.split()) and bool(duplicates(after, [before], most=1))

    def _best(self, pairs: Iterable[Pair]) -> list[Pair]:
        """The best few of each bullet; a pair that says the same is not also one that says the contrary."""
        kept: list[Pair] = []
        counts: defaultdict[tuple[str, str, bool], int] = defaultdict(int)
        seen: set[tuple[str, str]] = set()
        for pair in sorted(pairs, key=lambda one: (one.kind, -one.score, one.newer, one.older)):
            keys = ((pair.kind, pair.older, True), (pair.kind, pair.newer, False))
            if (pair.older, pair.newer) in seen or any(counts[key] >= MOST for key in keys):
                continue
            seen.add((pair.older, pair.newer))
            for key in keys:
                counts[key] += 1
            kept.append(pair)
        return kept
