"""What the CharMemory extension's guide says of models: which write good memories, and which do not. Pure.

Patterns are tried on the id and the name of a model. Nothing is hidden because of it: a sentence stands beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VERY_SMALL = 4.0  # thousand million parameters
SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])", re.IGNORECASE)
MILLIONS = re.compile(r"(?<![\w.])\d{3}m(?![a-z0-9])", re.IGNORECASE)


def _(text: str) -> str:
    """Marks a text for translation; pages translate it."""
    return text


@dataclass(frozen=True)
class Advice:
    text: str
    is_good: bool


KNOWN: tuple[tuple[str, Advice], ...] = (
    (r"glm[-_ ]?4[.-]7(?!\d|[-_ ]flash)", Advice(_("First choice: short memories of what matters."), is_good=True)),
    (r"deepseek.*v3[.-][12](?!\d)", Advice(_("Second choice: does as asked."), is_good=True)),
    (r"mistral[-_ ]large[-_ ]3(?!\d)", Advice(_("Good memories, at times wordy."), is_good=True)),
    (r"gpt[-_ ]?4\.1[-_ ](nano|mini)", Advice(_("Does as asked, for little money."), is_good=True)),
    (r"hermes[-_ ]4.*405b", Advice(_("Good with roleplay; does not refuse."), is_good=True)),
    (
        r"llama[-_ ]?3[.-]1[-_: ]8b([-_ ]instruct(?![a-z0-9])|$)",
        Advice(_("Fast and cheap, good for trying."), is_good=True),
    ),
    (r"qwen[-_ ]?3[-_: ]235b", Advice(_("Tends to retell the scene blow by blow."), is_good=False)),
)
TINY = Advice(_("Very small: may mix up who did what, and old memories with new."), is_good=False)
PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in KNOWN)


def advice_for(*names: str) -> Advice | None:
    """What is known of a model that is called so; None for most."""
    texts = [name[:300] for name in names if name]
    for pattern, advice in PATTERNS:
        if any(pattern.search(text) for text in texts):
            return advice
    return TINY if any(_is_tiny(text) for text in texts) else None


def _is_tiny(text: str) -> bool:
    sizes = [float(found) for found in SIZE.findall(text)]
    return max(sizes) <= VERY_SMALL if sizes else bool(MILLIONS.search(text))
