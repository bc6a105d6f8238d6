"""Which messages a memory came from: those that share its names and words, and the closest sentence (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import regex

from memories.transcript import Line

WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
SENTENCE = regex.compile(r"[^.!?。！？\n]+[.!?。！？\"”»*]*")
# Scripts written without spaces are compared by pairs of letters.
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}]")
COMMON = frozenset(
    "the and for that with was were has had have his her she him they them their from this but not are you your out "
    "who when what been into about after before would could than then there which while der die das und mit ein eine "
    "nicht war ist von den dem que los las una con por para del est les des une dans pour".split()
)
MOST = 3
ENOUGH = 0.2  # share of a memory's word weight that a message must hold
WHOLE = 0.9  # a message that holds so much of it says it all: what merely sounds like it is no source
QUOTE = 200


@dataclass(frozen=True)
class Support:
    """A message that bears out a memory: its weight (0 to 1) and its closest sentence."""

    line: Line
    weight: float
    quote: str


def terms(text: str) -> Counter[str]:
    """The words of a text that carry meaning, shortened to their stems; pairs of letters in unspaced scripts."""
    words = WORD.findall(text.casefold())
    if not UNSPACED.search(text):
        return Counter([word[:6] for word in words if len(word) > 2 and word not in COMMON])
    found: Counter[str] = Counter()
    for word in words:
        if UNSPACED.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) > 2 and word not in COMMON:
            found[word[:6]] += 1
    return found


class Evidence:
    """The messages of one chunk, ready to be asked about its memories."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self._terms = [terms(f"{line.entry.name} {line.text}") for line in lines]
        self._spread = Counter(word for found in self._terms for word in found)

    def supports(self, memory: str) -> list[Support]:
        """Up to three messages, best first; empty when no message shares enough with the memory.

        One that says everything stands alone, so that a change of another one does not put the memory in doubt.
        """
        wanted = {word: 1 / max(1, self._spread[word]) for word in terms(memory) if self._spread[word]}
        total = sum(wanted.values()) or 1.0
        scored = [
            (sum(weight for word, weight in wanted.items() if word in found) / total, place)
            for place, found in enumerate(self._terms)
        ]
        best = sorted(scored, key=lambda one: (-one[0], one[1]))[:MOST]
        if best and best[0][0] >= WHOLE:
            best = best[:1]
        return [
            Support(self.lines[place], weight, self._quote(self.lines[place].text, wanted))
            for weight, place in best
            if weight >= ENOUGH
        ]

    def links(self, memory: str) -> list[dict[str, Any]]:
        """Evidence as it is stored; without any support, the ends of the stretch that was read."""
        found = [(one.line, one.quote) for one in self.supports(memory)]
        if not found and self.lines:
            found = [(line, "") for line in dict.fromkeys((self.lines[0], self.lines[-1]))]
        return [_link(line, quote) for line, quote in sorted(found, key=lambda one: one[0].entry.index)]

    def _quote(self, text: str, wanted: dict[str, float]) -> str:
        sentences: list[str] = [match[0].strip() for match in SENTENCE.finditer(text)] or [text]
        best = max(sentences, key=lambda one: sum(wanted.get(word, 0) for word in terms(one)))
        return best[:QUOTE]


def _link(line: Line, quote: str) -> dict[str, Any]:
    entry = line.entry
    return {"identity": entry.identity, "index": entry.index, "quote": quote, "content": entry.content}
