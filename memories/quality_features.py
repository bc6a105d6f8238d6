"""What can be measured of a bullet within its scene: shares between 0 and 1, and small counts (pure).

Each feature has a plain meaning, so that its weight (memories/quality_weights.py) can be read and questioned.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from memories import quality_actors as actors
from memories.quality_form import is_topic_tag, no_memory
from memories.quality_index import Index, same_stem
from memories.quality_names import Known, Strange, Vocabulary
from memories.quality_sources import Likeness, Source
from memories.quality_text import fold, found_cues, language_of, meanings, read

WINDOW = 3  # messages side by side that may bear out one bullet
NAME_WEIGHT = 0.15  # of people who are everywhere in a scene
CLAUSE = regex.compile(
    r"[,;、，]|\s(?:and|then|und|dann|et|puis|y|e|luego|poi|depois|en|toen|i|potem|и|затем|потом|ve|sonra|och|a)\s"
)
SENTENCES = regex.compile(r"[^.!?。！？;\n]+")
# What a bullet of another language than the chat's is taken to share with it; words alone cannot tell.
FOREIGN = {"window": 0.6, "said": 0.7, "bare": 0.2, "lead": 0.7}


@dataclass(frozen=True)
class Measured:
    """All that is known of one bullet."""

    values: Mapping[str, float]
    strange: Sequence[Strange]
    existing: Likeness
    injected: Likeness
    card: str  # the sentence of the card that is most like it
    language: str


class Ground:
    """A scene's texts, indexed; measures bullets."""

    def __init__(
        self,
        character: str,
        card: str,
        existing: Sequence[str],
        injected: Sequence[str],
        messages: Sequence[tuple[str, str]],
        others: Sequence[str],
    ) -> None:
        texts = [text for _name, text in messages]
        self.language = language_of("\n".join(texts)) or language_of(card)
        self.speakers = [name for name, _text in messages]
        self.people = list(dict.fromkeys((character, *self.speakers, *others)))
        self._names = {part for person in self.people for part in fold(person).split() if len(part) > 1}
        said = [f"{name}: {text}" for name, text in messages]
        self.card = [part.strip() for part in SENTENCES.findall(card) if part.strip()]
        self._card = Source(self.card, self.language)
        self._existing = Source(existing, self.language)
        self._injected = Source(injected, self.language)
        sources = (self._card, self._existing, self._injected)
        told = Vocabulary((*said, *self.people))
        self.known = Known([told, *(one for source in sources for one in source.vocabularies)])
        self._weights: dict[str, float] = {}
        self._unreal: dict[int, bool] = {}
        parts = [(place, *one) for place, text in enumerate(texts) for one in actors.sentences(text)]
        self._parts = parts
        self._sentences = Index([part for _place, part, _acted in parts], self.language)
        self._count = len(messages)
        self._spread = Counter(word for words in self._sentences.words for word in words)
        self._spread.update({word: 1 for words in (*self._card.words, *self._injected.words) for word in words})
        self._most = math.log(len(parts) + 2)

    def _weight(self, word: str) -> float:
        if word not in self._weights:
            self._weights[word] = self._weighed(word)
        return self._weights[word]

    def _weighed(self, word: str) -> float:
        if word in self._names or any(
            same_stem(word, name) and len(name) > 3 for name in self._names if name[:3] == word[:3]
        ):
            return NAME_WEIGHT
        rarity = math.log((len(self._parts) + 2) / (0.5 + self._spread.get(word, 0.5))) / self._most
        return max(0.3, min(1.0, rarity)) * (0.6 if len(word) < 3 and word.isascii() and not word.isdecimal() else 1.0)

    def measure(self, bullet: str) -> Measured:
        """Everything about one bullet."""
        text = read(bullet, self.language)
        language = text.language or self.language
        foreign = bool(self.language) and language != self.language
        weights = {word: self._weight(word) for word in text.words}
        strange = [] if no_memory(bullet) >= 1 else self.known.strange(bullet, language, foreign=foreign)
        said = self._sentences.held(weights, language)
        existing = self._existing.likest(weights, language, self._weight)
        injected = self._injected.likest(weights, language, self._weight)
        shares = self._shares(weights, language, said, existing, injected)
        card_place = shares.pop("card_place")
        values = {
            **shares,
            **self._predicate(bullet, language, said, existing, injected),
            **self._support(weights, said, bullet),
            **_form(bullet, language, len(text.words)),
            "strange": max((one.sureness for one in strange), default=0.0),
            "no_memory": no_memory(bullet),
            "tag": float(is_topic_tag(bullet)),
            "foreign": float(foreign),
        }
        values["unreal_event"] = values["unreal"] * (1 - values["frame"])
        values["acted_run"] = min(1.0, 2 * values["acted"]) * min(1.0, 2 * values["clauses"]) * values["no_outcome"]
        values["empty_speech"] = float(values["speech"] > 0) * values["no_outcome"] * values["bare"]
        if foreign:
            values |= {name: max(value, values[name]) for name, value in FOREIGN.items()}
        card = self.card[int(card_place)] if card_place >= 0 else ""
        return Measured(values, strange, existing, injected, card, language)

    def _shares(
        self,
        weights: Mapping[str, float],
        language: str,
        said: Mapping[str, Mapping[int, float]],
        existing: Likeness,
        injected: Likeness,
    ) -> dict[str, float]:
        """How much of the bullet stands in which of the sources, and only there."""
        total = sum(weights.values()) or 1.0
        held = {
            "said": {word: max(said[word].values(), default=0.0) for word in weights},
            "card": self._card.held(weights, language),
            "existing": self._existing.held(weights, language, existing.place),
            "injected": self._injected.held(weights, language, injected.place),
        }

        def share(of: Iterable[float]) -> float:
            return sum(weight * value for weight, value in zip(weights.values(), of, strict=True)) / total

        def beyond(source: str, other: str) -> float:
            return share(max(0.0, held[source][word] - held[other][word]) for word in weights)

        card = self._card.likest(weights, language, self._weight)
        return {
            "said": share(held["said"].values()),
            "in_card": share(held["card"].values()),
            "card": card.score,
            "card_place": card.place,
            "existing": existing.score,
            "existing_held": existing.held,
            "injected": injected.score,
            "injected_held": injected.held,
            "new_to_card": beyond("said", "card"),
            "new_to_existing": beyond("said", "existing"),
            "new_to_injected": beyond("said", "injected"),
            "only_card": beyond("card", "said"),
            "bare": share(1 - max(held[source][word] for source in held) for word in weights),
        }

    def _predicate(
        self,
        bullet: str,
        language: str,
        said: Mapping[str, Mapping[int, float]],
        existing: Likeness,
        injected: Likeness,
    ) -> dict[str, float]:
        """Whether the word that says what happened stands in the messages, in the likest memory, in the card."""
        text = read(bullet, self.language)
        frames = set(found_cues(bullet, "frame", language))
        names = {word for word, raw in zip(text.words, text.raw, strict=True) if self._is_name(word, raw, language)}
        rest = [word for word in text.words if word not in names]
        if language in VERB_LAST:
            rest.reverse()
        is_frame = bool(rest) and _is_frame(rest[0], frames)
        core = next((word for word in rest[:3] if not _is_frame(word, frames)), "")
        parts = {part for part, value in said.get(core, {}).items() if value >= 0.75}
        unreal = [self._is_unreal(part) for part in parts]
        first = dict.fromkeys(rest[:1], 1.0)
        actor = actors.roles(bullet, self.people).actor
        outcomes = [word for word in rest if word in set(found_cues(bullet, "outcome", language)) - frames]
        known = self._existing.held(outcomes, language, existing.place)
        is_own = any(self.speakers[self._parts[part][0]] == actor for part in parts)
        light = frames | set(found_cues(bullet, "handling", language))
        missing = [
            word for word in rest if meanings(word, language) and not _is_frame(word, light) and not said.get(word)
        ]
        return {
            "own_unreal": float(
                bool(unreal) and all(unreal) and not is_frame and is_own and not actors.is_negated(bullet)
            ),
            "core_missing": float(core in missing and not parts) * (0.5 if is_frame else 1.0),
            "missing": min(1.0, len(missing) / max(3, len(rest))),
            "frame": float(is_frame),
            "new_outcome": sum(value == 0 for value in known.values()) / max(1, len(known)),
            "core_bare": float(bool(core) and not parts) * (0.5 if is_frame else 1.0),
            "core_unreal": float(bool(unreal) and all(unreal) and not is_frame and not actors.is_negated(bullet)),
            "frame_unreal": float(
                bool(unreal) and all(map(self._is_denied, parts)) and is_frame and not actors.is_negated(bullet)
            ),
            "told_existing": max(self._existing.held(first, language, existing.place).values(), default=0.0),
            "told_injected": max(self._injected.held(first, language, injected.place).values(), default=0.0),
            "told_card": max(self._card.held(first, language).values(), default=0.0),
        }

    def _is_name(self, word: str, raw: str, language: str) -> bool:
        return word in self._names or (language != "de" and raw[:1].isupper())

    def _is_denied(self, part: int) -> bool:
        return actors.is_negated(self._parts[part][1])

    def _is_unreal(self, part: int) -> bool:
        if part not in self._unreal:
            sentence = self._parts[part][1]
            cues = found_cues(sentence, "unreal", self.language)
            self._unreal[part] = actors.is_negated(sentence) or "?" in sentence or bool(cues)
        return self._unreal[part]

    def _support(
        self, weights: Mapping[str, float], said: Mapping[str, Mapping[int, float]], bullet: str
    ) -> dict[str, float]:
        """How well one stretch of messages bears the bullet out, and whose words those are."""
        total = sum(weights.values()) or 1.0
        by_message: list[dict[str, float]] = [{} for _ in range(self._count)]
        by_part: Counter[int] = Counter()
        acted = spoken = 0.0
        for word, places in said.items():
            for part, value in places.items():
                place = self._parts[part][0]
                by_message[place][word] = max(value, by_message[place].get(word, 0.0))
                by_part[part] += weights[word] * value / total  # type: ignore[assignment]
            acted += weights[word] * max((v for part, v in places.items() if self._parts[part][2]), default=0.0)
            spoken += weights[word] * max((v for part, v in places.items() if not self._parts[part][2]), default=0.0)
        best = 0.0
        for start in range(self._count):
            window: dict[str, float] = {}
            for message in by_message[start : start + WINDOW]:
                for word, value in message.items():
                    window[word] = max(value, window.get(word, 0.0))
            best = max(best, sum(weights[word] * value for word, value in window.items()) / total)
        lead = by_part.most_common(1)[0] if by_part else (-1, 0.0)
        denied = lead[0] >= 0 and actors.is_negated(self._parts[lead[0]][1])
        real = dict.fromkeys(said, 0.0)
        told = dict.fromkeys(said, 0.0)
        for word, places in said.items():
            told[word] = max(places.values(), default=0.0)
            real[word] = max((value for part, value in places.items() if not self._is_unreal(part)), default=0.0)
        unreal = sum(weights[word] * (told[word] - real[word]) for word in said)
        whole = sum(weights[word] * told[word] for word in said) or 1.0
        return {
            "unreal": 0.0 if actors.is_negated(bullet) else unreal / whole,
            "window": best,
            "lead": lead[1],
            "acted": max(0.0, acted - spoken) / total,
            "spoken": max(0.0, spoken - acted) / total,
            "contrary": float(denied and not actors.is_negated(bullet)) * lead[1],
            "reversed": self._reversed(by_part, bullet),
        }

    def _reversed(self, by_part: Mapping[int, float], bullet: str) -> float:
        """How much more the messages speak for the other one's acting than for the bullet's actor (-1 to 1)."""
        who = actors.roles(bullet, self.people)
        if not who.other:
            return 0.0
        sides = {who.actor: 0.0, who.other: 0.0}
        for part, score in by_part.items():
            place, sentence, acted = self._parts[part]
            speaker = self.speakers[place]
            if speaker not in sides:
                continue
            turn = 1.0 if acted else actors.agency(sentence)
            other = who.other if speaker == who.actor else who.actor
            doer = speaker if turn > 0 else other
            sides[doer] = max(sides[doer], score * abs(turn))
        return sides[who.other] - sides[who.actor]


def _is_frame(word: str, frames: set[str]) -> bool:
    return word in frames or any(word in part for part in frames if not part.isascii())


def _form(bullet: str, language: str, words: int) -> dict[str, float]:
    """What kind of sentence it is, by its cues and its build."""
    counts = {kind: len(found_cues(bullet, kind, language)) for kind in KINDS}
    clauses = len(CLAUSE.findall(bullet))
    size = max(1.0, float(words if language not in ("ja", "zh", "th") else words / 2.5))
    return {
        "steps": min(1.0, counts["handling"] / size),
        "many_steps": min(1.0, max(0, min(counts["handling"], clauses + 1) - 1) / 3),
        "body": min(1.0, counts["body"] / 2),
        "outcome": min(1.0, counts["outcome"] / 2),
        "no_outcome": float(counts["outcome"] == 0),
        "state": min(1.0, counts["state"] / 2),
        "bare_state": float(counts["state"] > 0 and counts["outcome"] == 0),
        "speech": min(1.0, counts["speech"] / 2),
        "mere_speech": float(counts["speech"] > 0 and counts["topic"] > 0),
        "speech_share": min(1.0, (counts["speech"] + counts["topic"]) / size),
        "trait": min(1.0, counts["trait"] / 3),
        "short": max(0.0, 1 - size / 8),
        "long": min(1.0, max(0.0, size - 8) / 8),
        "clauses": min(1.0, clauses / 4),
        "run": min(1.0, clauses / 3) * float(counts["outcome"] == counts["speech"] == 0),
        "only_speech": float(counts["speech"] > 0 and counts["outcome"] == 0),
        "steps_no_outcome": min(1.0, counts["handling"] / 3) * float(counts["outcome"] == 0),
    }


VERB_LAST = frozenset({"tr", "ja", "ko", "hi"})
KINDS = ("handling", "body", "outcome", "state", "speech", "topic", "trait")
