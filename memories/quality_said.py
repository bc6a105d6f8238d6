"""What was said and done in a stretch of messages, sentence by sentence, and how far it bears a bullet out (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memories import quality_actors as actors
from memories.quality_index import Index
from memories.quality_text import LETTER_PAIRS, Text, found_cues, meanings

WINDOW = 3  # messages side by side that may bear out one bullet
MUCH = 5.0  # weight of a bullet's words that a few messages hold, and more tells nothing further
SURELY = 0.75  # how alike words must be to count as said
VERB_LAST = frozenset({"tr", "ja", "ko", "hi"})


@dataclass(frozen=True)
class Asked:
    """A bullet: its words with their weights, and the sentences that hold each word (place and likeness)."""

    bullet: str
    language: str
    text: Text
    weights: Mapping[str, float]
    said: Mapping[str, Mapping[int, float]]
    names: frozenset[str]  # those of its words that are names

    @property
    def total(self) -> float:
        """What all words weigh together."""
        return sum(self.weights.values()) or 1.0


@dataclass(frozen=True)
class Event:
    """The word that says what happened.

    `first` is the first word behind the subject, `core` the first that is more than a frame ("decided to …"),
    `missing` are words of a known meaning that nobody used, in whatever form or language.
    """

    first: str
    core: str
    is_frame: bool
    missing: Sequence[str]
    outcomes: Sequence[str] = field(default=())


class Said:
    """The sentences of some messages, ready for questions."""

    def __init__(self, messages: Sequence[tuple[str, str]], people: Sequence[str], language: str) -> None:
        self.people = people
        self.language = language
        self._speakers = [name for name, _text in messages]
        self._parts = [(place, *one) for place, (_n, text) in enumerate(messages) for one in actors.sentences(text)]
        self.index = Index([part for _place, part, _acted in self._parts], language)
        self._subjects = [actors.subject(part, people) for _place, part, _acted in self._parts]
        self._unreal: dict[int, bool] = {}

    def measure(self, asked: Asked, event: Event) -> dict[str, float]:
        """How far the messages bear a bullet out."""
        by_part = self._by_part(asked)
        return {
            "window": (window := self._window(asked)),
            "matched": min(1.0, window * asked.total / MUCH),
            "lead": max(by_part.values(), default=0.0),
            "acted": self._acted(asked),
            "reversed": self._reversed(by_part, asked.bullet),
            **self._denied(asked, event),
        }

    def _by_part(self, asked: Asked) -> Mapping[int, float]:
        """How much of the bullet each sentence holds."""
        found: dict[int, float] = {}
        for word, places in asked.said.items():
            for part, value in places.items():
                found[part] = found.get(part, 0.0) + asked.weights[word] * value / asked.total
        return found

    def _window(self, asked: Asked) -> float:
        """How much of the bullet the best few messages side by side hold."""
        sums = [0.0] * len(self._speakers)  # by the last message of a window
        for word, places in asked.said.items():
            best: dict[int, float] = {}
            for part, value in places.items():
                message = self._parts[part][0]
                for last in range(message, min(message + WINDOW, len(sums))):
                    if value > best.get(last, 0.0):
                        best[last] = value
            for last, value in best.items():
                sums[last] += asked.weights[word] * value
        return max(sums, default=0.0) / asked.total

    def _acted(self, asked: Asked) -> float:
        """How much more of the bullet stands in actions between stars than in what was spoken."""
        sums = {True: 0.0, False: 0.0}
        for word, places in asked.said.items():
            for is_action in (True, False):
                best = max((value for part, value in places.items() if self._parts[part][2] is is_action), default=0.0)
                sums[is_action] += asked.weights[word] * best
        return max(0.0, sums[True] - sums[False]) / asked.total

    def _reversed(self, by_part: Mapping[int, float], bullet: str) -> float:
        """How much more the messages speak for the other one's acting than for the bullet's actor (-1 to 1)."""
        who = actors.roles(bullet, self.people)
        if not who.other:
            return 0.0
        sides = {who.actor: 0.0, who.other: 0.0}
        for part, score in by_part.items():
            place, sentence, acted = self._parts[part]
            speaker, subject = self._speakers[place], self._subjects[part]
            if subject:
                doer, turn = subject, 1.0
            else:
                turn = 1.0 if acted else actors.agency(sentence, self.language)
                doer = speaker if turn > 0 else who.other if speaker == who.actor else who.actor
            if doer in sides and (subject or speaker in sides):
                sides[doer] = max(sides[doer], score * abs(turn))
        return sides[who.other] - sides[who.actor]

    def _denied(self, asked: Asked, event: Event) -> dict[str, float]:
        """Whether what happened was only denied, wished or threatened: by the actor, or behind a frame."""
        parts = {part for part, value in asked.said.get(event.core, {}).items() if value >= SURELY}
        is_told_so = actors.is_negated(asked.bullet) or bool(found_cues(asked.bullet, "unreal", asked.language))
        if not parts or is_told_so:
            return {"own_unreal": 0.0, "frame_unreal": 0.0}
        if event.is_frame:
            denied = all(actors.is_negated(self._parts[part][1]) for part in parts)
            return {"own_unreal": 0.0, "frame_unreal": float(denied)}
        actor = actors.roles(asked.bullet, self.people).actor
        is_own = any(self._speakers[self._parts[part][0]] == actor for part in parts)
        return {"own_unreal": float(is_own and all(map(self._is_unreal, parts))), "frame_unreal": 0.0}

    def _is_unreal(self, part: int) -> bool:
        if part not in self._unreal:
            sentence = self._parts[part][1]
            cues = found_cues(sentence, "unreal", self.language)
            self._unreal[part] = actors.is_negated(sentence) or "?" in sentence or bool(cues)
        return self._unreal[part]


def event_of(asked: Asked) -> Event:
    """What a bullet says happened."""
    frames = set(found_cues(asked.bullet, "frame", asked.language))
    light = frames | set(found_cues(asked.bullet, "handling", asked.language))
    outcomes = set(found_cues(asked.bullet, "outcome", asked.language)) - frames
    rest = [word for word in asked.text.words if word not in asked.names]
    if asked.language in VERB_LAST:
        rest.reverse()
    return Event(
        first=rest[0] if rest else "",
        core=next((word for word in rest[:3] if not _is_among(word, frames)), ""),
        is_frame=bool(rest) and _is_among(rest[0], frames),
        missing=[] if asked.language in LETTER_PAIRS else [word for word in rest if _is_missing(word, asked, light)],
        outcomes=[word for word in rest if word in outcomes],
    )


def event_features(asked: Asked, event: Event) -> dict[str, float]:
    """What the event by itself tells."""
    said = any(value >= SURELY for value in asked.said.get(event.core, {}).values())
    unsaid = float(event.core in event.missing and not said)
    count = sum(word not in asked.names for word in asked.text.words)
    return {
        "frame": float(event.is_frame),
        "core_missing": unsaid * (0.5 if event.is_frame else 1.0),
        "missing": min(1.0, len(event.missing) / max(3, count)),
    }


def _is_missing(word: str, asked: Asked, light: set[str]) -> bool:
    """Whether a word has a known meaning that nobody used; of pairs of letters that cannot be told."""
    return bool(meanings(word, asked.language)) and not asked.said.get(word) and not _is_among(word, light)


def _is_among(word: str, cues: set[str]) -> bool:
    """Whether a word is a cue, or a pair of letters within one."""
    return word in cues or any(word in part for part in cues if not part.isascii())
