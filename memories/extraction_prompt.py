"""The prompt of one extraction call: bounded sections of card, known memories and numbered messages (pure).

Budget, in tokens: context window − answer − fixed text, of which the card may take a fifth and the known memories a
quarter; the rest is for messages. What does not fit is chosen by memories/known_choice.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memories.known_choice import Meaning, choose, choose_card
from memories.prompts import PromptText, grammar, open_grammar, prompt_text, system_text
from memories.templating import pieces
from memories.transcript import Line, join_lines, plain_lines

Measure = Callable[[str], int]
USUAL_CONTEXT = 16_384  # tokens, when a connection does not say; every current model has at least this
SMALL_CONTEXT = 8_192  # tokens; below it the short prompt is used
CARD_SHARE, CARD_MOST = 0.2, 2_000
MEMORY_SHARE, MEMORY_MOST = 0.25, 2_400
LEAST_MESSAGES = 200


@dataclass(frozen=True)
class Budget:
    """Tokens for each section of one prompt, and the prompt's text."""

    card: int
    memories: int
    messages: int
    text: PromptText


@dataclass(frozen=True)
class Prompt:
    """What goes to the model, and what a memory keeps of it. `parts` is the user text cut at its variables."""

    system: str
    parts: tuple[tuple[str, str], ...]
    version: str
    examples: frozenset[str]

    @property
    def user(self) -> str:
        return "".join(words for _name, words in self.parts)


def text_for(context: int | None) -> str:
    """Which prompt: in a small window the usual one would leave little room for messages, and small models lose
    themselves in it."""
    return "extraction_small" if context and context < SMALL_CONTEXT else "extraction"


def grammar_for(context: int | None) -> str:
    """The form of an answer to that prompt, for servers that hold a model to one."""
    return grammar() if text_for(context) == "extraction_small" else open_grammar()


def budget(*, context: int | None, answer: int, measure: Measure, text: PromptText | None = None) -> Budget:
    """How a context window is shared out; a very small one leaves at least a little for messages. `text` is the prompt,
    the shipped one when none is given."""
    text = text or prompt_text(text_for(context))
    free = (context or USUAL_CONTEXT) - answer - measure(text.text) - measure(system_text()) - 64
    card = max(0, min(CARD_MOST, int(free * CARD_SHARE)))
    memories = max(0, min(MEMORY_MOST, int(free * MEMORY_SHARE)))
    return Budget(card, memories, max(LEAST_MESSAGES, free - card - memories), text)


def build(
    *,
    character: str,
    card: str,
    known: Sequence[str],
    lines: Sequence[Line],
    sizes: Budget,
    seed: str,
    measure: Measure,
    participants: Sequence[str] = (),
    locked: Collection[int] = (),
    meaning: Meaning | None = None,
) -> Prompt:
    """The prompt for one chunk. `seed` makes the marker; `participants` are the others of a group; `locked` the places
    in `known` of memories that a person locked; `meaning` helps to choose among them."""
    text = sizes.text
    messages, plain = join_lines(lines), plain_lines(lines)
    values = {
        "charName": " ".join(character.split()) or "the character",
        "charCard": _card(card, plain, sizes.card, measure),
        "existingMemories": choose_known(known, plain, sizes.memories, measure, locked, meaning),
        "recentMessages": messages,
        "participants": "\n".join(participants),
    }
    values["mark"] = marker(seed, "\n".join(values.values()))
    return Prompt(system_text(), tuple(pieces(text.text, values)), f"{text.name} {text.version}", text.examples)


def marker(seed: str, material: str) -> str:
    """A code for the section lines that the material cannot contain: nobody who wrote it could know the seed."""
    for attempt in range(1000):
        code = hashlib.sha256(f"{seed}/{attempt}".encode()).hexdigest()[:10]
        if code not in material:
            return code
    raise ValueError("no marker is free")


def _card(card: str, messages: str, limit: int, measure: Measure) -> str:
    return choose_card(card, messages.split("\n\n"), limit, measure) if card.strip() else ""


def choose_known(
    known: Sequence[str],
    messages: str,
    limit: int,
    measure: Measure,
    locked: Collection[int] = (),
    meaning: Meaning | None = None,
) -> str:
    """Known memories as bullets within `limit` tokens, in file order (memories/known_choice.py)."""
    places = choose(known, messages.split("\n\n"), limit, measure, locked, meaning)
    return "\n".join(f"- {known[place]}" for place in places)
