"""Texts that go to language models, one file each, with the version that a memory remembers it was made by (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
EXAMPLE = re.compile(r"<(bad|good)>([\s\S]*?)</\1>")


@dataclass(frozen=True)
class PromptText:
    """One prompt: its name, its version, its text with `{{placeholders}}`."""

    name: str
    version: str
    text: str

    @property
    def examples(self) -> frozenset[str]:
        """Bullets of the worked examples: a model that gives them back has remembered nothing."""
        lines = (line.strip() for match in EXAMPLE.finditer(self.text) for line in match[2].split("\n"))
        return frozenset(line[2:] for line in lines if line.startswith("- ")) | {"[topic]", "topic", "fact"}


# The version of each text; raised with every change of the text, so that blocks say which one made them.
VERSIONS = {
    "extraction": "1.0",
    "extraction_group": "1.0",
    "extraction_small": "1.0",
    "extraction_together": "1.0",
    "consolidation_conservative": "1.0",
    "consolidation_balanced": "1.0",
    "consolidation_aggressive": "1.0",
    "conversion": "1.0",
}
BALANCED = "consolidation_balanced"  # used when nothing is said, and what own strategies begin with
STRATEGIES = ("consolidation_conservative", BALANCED, "consolidation_aggressive")


@cache
def prompt_text(name: str) -> PromptText:
    """The prompt called `name` (a file of this folder)."""
    return PromptText(name, VERSIONS[name], (FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip())


@cache
def system_text() -> str:
    """The one-line role that goes in front of every extraction."""
    return (FOLDER / "system.txt").read_text(encoding="utf-8").strip()


@cache
def frame() -> PromptText:
    """What stands around the rules of every consolidation: the material and the form of the answer.

    Its version is part of those rules' versions: whoever changes it raises them.
    """
    return PromptText("consolidation_frame", "1.0", (FOLDER / "consolidation_frame.txt").read_text("utf-8").strip())


@cache
def mending_text() -> str:
    """Asks for doubtful bullets in better words (memories/quality_repair.py)."""
    return (FOLDER / "quality_repair.txt").read_text(encoding="utf-8").strip()


@cache
def supporting_text() -> str:
    """Asks whether messages bear bullets out (memories/quality_support.py)."""
    return (FOLDER / "quality_support.txt").read_text(encoding="utf-8").strip()


@cache
def grammar() -> str:
    """GBNF that holds a small local model to one block of one topic and one to five facts."""
    return (FOLDER / "grammar.gbnf").read_text(encoding="utf-8")


@cache
def open_grammar() -> str:
    """GBNF for models that can be trusted with more: blocks of bullets or the sentinel, with thinking before them."""
    return (FOLDER / "grammar_open.gbnf").read_text(encoding="utf-8")
