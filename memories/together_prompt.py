"""The prompt of one call for several members of a group at once (pure): the room for cards and for known memories is
shared out among them evenly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from memories.extraction_prompt import Budget, Measure, Prompt, choose_known, marker
from memories.known_choice import Meaning, choose_card
from memories.prompts import system_text
from memories.templating import EMPTY, pieces
from memories.transcript import Line, join_lines, plain_lines


@dataclass(frozen=True)
class Asked:
    """One member that is asked about. `known` are the texts of its memories in file order, `locked` places in it,
    `meaning` helps to choose among them."""

    name: str
    card: str
    known: Sequence[str] = ()
    locked: Collection[int] = field(default=())
    meaning: Meaning | None = None


def build(
    asked: Sequence[Asked],
    *,
    lines: Sequence[Line],
    sizes: Budget,
    seed: str,
    measure: Measure,
    participants: Sequence[str] = (),
) -> Prompt:
    """The prompt for one chunk. `participants` are those who are not asked about; `seed` makes the marker."""
    text, plain = sizes.text, plain_lines(lines)
    card, memories = sizes.card // max(1, len(asked)), sizes.memories // max(1, len(asked))
    paragraphs = plain.split("\n\n")
    cards = [choose_card(one.card, paragraphs, card, measure) if one.card.strip() else "" for one in asked]
    known = [choose_known(one.known, plain, memories, measure, one.locked, one.meaning) for one in asked]
    values = {
        "charName": ", ".join(one.name for one in asked),
        "charCard": _sections(asked, cards, EMPTY["charCard"]),
        "existingMemories": _sections(asked, known, EMPTY["existingMemories"]),
        "recentMessages": join_lines(lines),
        "participants": "\n".join(participants),
    }
    values["mark"] = marker(seed, "\n".join(values.values()))
    return Prompt(system_text(), tuple(pieces(text.text, values)), f"{text.name} {text.version}", text.examples)


def _sections(asked: Sequence[Asked], texts: Sequence[str], nothing: str) -> str:
    return "\n\n".join(f"{one.name}:\n{text or nothing}" for one, text in zip(asked, texts, strict=True))
