"""What can be measured of a bullet within its scene: shares between 0 and 1, and small counts (pure).

Each feature has a plain meaning, so that its weight (memories/quality_weights.py) can be read and questioned.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from memories.quality_form import is_topic, no_memory
from memories.quality_index import same_stem
from memories.quality_names import Known, Strange, Vocabulary
from memories.quality_said import Asked, Event, Said, event_features, event_of
from memories.quality_sources import Likeness, Source
from memories.quality_text import LETTER_PAIRS, fold, found_cues, language_of, read, read_lists

NAME_WEIGHT = 0.15  # of people who are everywhere in a scene
LEAST_WEIGHT, SHORT_WORD = 0.3, 0.6
SENTENCES = regex.compile(r"[^.!?。！？;\n]+")
CLAUSE = regex.compile(
    r"[,;、，]|\s(?:and|then|und|dann|et|puis|y|e|luego|poi|depois|en|toen|i|potem|и|затем|потом|ve|sonra|och|a)\s"
    r"|\p{Hangul}(?:고|며|면서)\s"
)
KINDS = ("handling", "body", "outcome", "state", "speech", "topic", "trait")
PAIRS_A_WORD = 2.5
# What a bullet of another language than the chat's is taken to share with it; words alone cannot tell.
FOREIGN = {"window": 0.6, "lead": 0.7}


@dataclass(frozen=True)
class Measured:
    """All that is known of one bullet."""

    values: Mapping[str, float]
    strange: Sequence[Strange]  # names and numbers without a source
    existing: Likeness
    injected: Likeness
    card: str  # the sentence of the card that is most like it
    missing: Sequence[str]  # words whose meaning occurs nowhere in the messages, as written
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
        read_lists()
        self.language = language_of("\n".join(text for _name, text in messages)) or language_of(card)
        people = list(dict.fromkeys((character, *(name for name, _text in messages), *others)))
        self._names = {part for person in people for part in fold(person).split() if len(part) > 1}
        self._card_sentences = [part.strip() for part in SENTENCES.findall(card) if part.strip()]
        self._card = Source(self._card_sentences, self.language)
        self._existing = Source(existing, self.language)
        self._injected = Source(injected, self.language)
        sources = (self._card, self._existing, self._injected)
        told = Vocabulary((*(f"{name}: {text}" for name, text in messages), *people))
        self._known = Known([told, *(one for source in sources for one in source.vocabularies)], people)
        self._said = Said(messages, people, self.language)
        self._count = len(self._said.index.words)
        self._spread = Counter(word for words in self._said.index.words for word in words)
        self._spread.update({word: 1 for words in (*self._card.words, *self._injected.words) for word in words})
        self._weights: dict[str, float] = {}

    def measure(self, bullet: str) -> Measured:
        """Everything about one bullet."""
        text = read(bullet, self.language)
        language = text.language or self.language
        foreign = bool(self.language) and language != self.language
        weights = {word: self._weight(word) for word in text.words}
        names = frozenset(
            word for word, raw in zip(text.words, text.raw, strict=True) if self._is_name(word, raw, language)
        )
        asked = Asked(bullet, language, text, weights, self._said.index.held(weights, language), names)
        event = event_of(asked)
        existing = self._existing.likest(weights, language, self._weight)
        injected = self._injected.likest(weights, language, self._weight)
        card = self._card.likest(weights, language, self._weight)
        strange = [] if no_memory(bullet) >= 1 else self._known.strange(bullet, language, foreign=foreign)
        values = {
            **self._shares(asked, existing, injected, card),
            **self._told(asked, event, existing, injected),
            **event_features(asked, event),
            **self._said.measure(asked, event),
            **_form(bullet, language, len(text.words)),
            "strange": max((one.sureness for one in strange), default=0.0),
            "no_memory": no_memory(bullet),
            "topic": float(is_topic(bullet)),
        }
        if foreign:
            values |= {name: max(value, values[name]) for name, value in FOREIGN.items()}
        sentence = self._card_sentences[card.place] if card.place >= 0 else ""
        written = dict(zip(text.words, text.raw, strict=True))
        missing = [written[word] for word in event.missing]
        return Measured(values | _together(values), strange, existing, injected, sentence, missing, language)

    def _is_name(self, word: str, raw: str, language: str) -> bool:
        return word in self._names or (language != "de" and raw[:1].isupper())

    def _weight(self, word: str) -> float:
        if word not in self._weights:
            self._weights[word] = self._weighed(word)
        return self._weights[word]

    def _weighed(self, word: str) -> float:
        """How much a word tells: names that are everywhere little, rare words most."""
        alike = (name for name in self._names if len(name) > 3 and name[:3] == word[:3])
        if word in self._names or any(same_stem(word, name) for name in alike):
            return NAME_WEIGHT
        rarity = math.log((self._count + 2) / (0.5 + self._spread.get(word, 0.5))) / math.log(self._count + 2)
        return max(LEAST_WEIGHT, min(1.0, rarity)) * (SHORT_WORD if len(word) < 3 and word.isascii() else 1.0)

    def _shares(self, asked: Asked, existing: Likeness, injected: Likeness, card: Likeness) -> dict[str, float]:
        """How much of the bullet stands in which of the sources, and only there."""
        held = {
            "said": {word: max(places.values(), default=0.0) for word, places in asked.said.items()},
            "card": self._card.held(asked.weights, asked.language),
            "existing": self._existing.held(asked.weights, asked.language, existing.place),
            "injected": self._injected.held(asked.weights, asked.language, injected.place),
        }

        def share(of: Iterable[float]) -> float:
            return sum(map(float.__mul__, map(float, asked.weights.values()), map(float, of))) / asked.total

        def beyond(source: str, other: str) -> float:
            return share(max(0.0, held[source][word] - held[other][word]) for word in asked.weights)

        return {
            "card": card.score,
            "in_card": share(held["card"].values()),
            "only_card": beyond("card", "said"),
            "new_to_card": beyond("said", "card"),
            "existing": existing.score,
            "existing_held": existing.held,
            "new_to_existing": beyond("said", "existing"),
            "injected": injected.score,
            "injected_held": injected.held,
            "new_to_injected": beyond("said", "injected"),
            "bare": share(1 - max(held[source][word] for source in held) for word in asked.weights),
        }

    def _told(self, asked: Asked, event: Event, existing: Likeness, injected: Likeness) -> dict[str, float]:
        """Whether the word that says what happened stands in the likest memory, or in the card."""
        first = [event.first] if event.first else []
        known = self._existing.held(event.outcomes, asked.language, existing.place)
        return {
            "told_existing": max(self._existing.held(first, asked.language, existing.place).values(), default=0.0),
            "told_injected": max(self._injected.held(first, asked.language, injected.place).values(), default=0.0),
            "told_card": max(self._card.held(first, asked.language).values(), default=0.0),
            "new_outcome": sum(value == 0 for value in known.values()) / max(1, len(known)),
        }


def _form(bullet: str, language: str, words: int) -> dict[str, float]:
    """What kind of sentence it is, by its cues and its build."""
    counts = {kind: len(found_cues(bullet, kind, language)) for kind in KINDS}
    clauses = len(CLAUSE.findall(bullet))
    size = max(1.0, words / PAIRS_A_WORD if language in LETTER_PAIRS else words)
    lasts = counts["outcome"] > 0
    return {
        "steps": min(1.0, counts["handling"] / size),
        "many_steps": min(1.0, max(0, min(counts["handling"], clauses + 1) - 1) / 3),
        "steps_no_outcome": min(1.0, counts["handling"] / 3) * (not lasts),
        "body": min(1.0, counts["body"] / 2),
        "outcome": min(1.0, counts["outcome"] / 2),
        "no_outcome": float(not lasts),
        "state": min(1.0, counts["state"] / 2),
        "bare_state": float(counts["state"] > 0 and not lasts),
        "speech": min(1.0, counts["speech"] / 2),
        "mere_speech": float(counts["speech"] > 0 and counts["topic"] > 0),
        "only_speech": float(counts["speech"] > 0 and not lasts),
        "speech_share": min(1.0, (counts["speech"] + counts["topic"]) / size) * (counts["speech"] > 0),
        "trait": min(1.0, counts["trait"] / 3),
        "short": max(0.0, 1 - size / 8),
        "long": min(1.0, max(0.0, size - 8) / 8),
        "clauses": min(1.0, clauses / 4),
        "run": min(1.0, clauses / 3) * (not lasts and not counts["speech"]),
    }


def _together(values: Mapping[str, float]) -> dict[str, float]:
    """Features that mean something only side by side: a run of actions, talk without content, what was only denied,
    a short claim of which little was said.
    """
    run = min(1.0, 2 * values["acted"]) * min(1.0, 2 * values["clauses"])
    return {
        "acted_run": run * values["no_outcome"],
        "empty_speech": values["only_speech"] * values["bare"],
        "denied": values["own_unreal"] * values["window"],
        "thin": values["short"] * (1 - values["window"]),
    }
