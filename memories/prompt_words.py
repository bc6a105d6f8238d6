"""How pages speak of prompts: their names, what each variable stands for, what is wrong with a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.prompt_check import Problem, braced
from memories.prompts import STRATEGIES

GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (gettext_lazy("Extraction"), ("extraction", "extraction_small", "extraction_group", "extraction_together")),
    (gettext_lazy("Consolidation"), STRATEGIES),
    (gettext_lazy("Other"), ("conversion",)),
)
SHORT: dict[str, Any] = {
    "extraction": gettext_lazy("One to one"),
    "extraction_small": gettext_lazy("Small models"),
    "extraction_group": gettext_lazy("In groups"),
    "extraction_together": gettext_lazy("Groups at once"),
    "consolidation_conservative": gettext_lazy("Conservative"),
    "consolidation_balanced": gettext_lazy("Balanced"),
    "consolidation_aggressive": gettext_lazy("Aggressive"),
    "conversion": gettext_lazy("Import and sort"),
}
LONG: dict[str, Any] = {
    "extraction": gettext_lazy("Extraction"),
    "extraction_small": gettext_lazy("Extraction with small models"),
    "extraction_group": gettext_lazy("Extraction in groups"),
    "extraction_together": gettext_lazy("Extraction for a whole group at once"),
    "consolidation_conservative": gettext_lazy("Conservative consolidation"),
    "consolidation_balanced": gettext_lazy("Balanced consolidation"),
    "consolidation_aggressive": gettext_lazy("Aggressive consolidation"),
    "conversion": gettext_lazy("Import and sort into topics"),
}
WHAT_FOR: dict[str, Any] = {
    "extraction": gettext_lazy("What a model is told when it reads a chat with one character."),
    "extraction_small": gettext_lazy("A shorter text for models with a context window below 8,192 tokens."),
    "extraction_group": gettext_lazy("What a model is told when several characters talk and one of them remembers."),
    "extraction_together": gettext_lazy("What a model is told when one call is for all members of a group."),
    "consolidation_conservative": gettext_lazy("Only repetitions go; every other memory keeps its words."),
    "consolidation_balanced": gettext_lazy("Related facts are combined; nothing that stands alone is lost."),
    "consolidation_aggressive": gettext_lazy("As few memories as possible; small details may go, with a reason."),
    "conversion": gettext_lazy("What a model is told when notes become memories, or memories get topics."),
}
MEANING: dict[str, tuple[Any, Any]] = {
    "charName": (gettext_lazy("the character’s name"), "Seraphine Vael"),
    "charCard": (gettext_lazy("the character’s card, cut to a fifth of the room"), gettext_lazy("keeps the library")),
    "existingMemories": (gettext_lazy("the newest and the fitting memories"), "- Orla promised to repair the clock."),
    "recentMessages": (gettext_lazy("the messages, numbered, with speakers"), "#847 Wren: You called me something."),
    "participants": (gettext_lazy("the others in the group, one a line"), "Pim"),
    "mark": (gettext_lazy("a code of each call for the marker lines"), "3fa9c1d27b"),
    "sourceText": (gettext_lazy("the notes that are converted"), "Pim is afraid of water."),
    "today": (gettext_lazy("today’s date"), "2026-03-01"),
    "memories": (gettext_lazy("the memories to work on, with their ids"), "b4.2 Orla promised …"),
}


@dataclass(frozen=True)
class Said:
    """A problem as a sentence; `line` 0 is the text as a whole."""

    line: int
    text: str
    is_error: bool


def short_name(name: str, title: str = "") -> str:
    """The name in a list; `title` is that of a person's own strategy."""
    return title or str(SHORT.get(name, name))


def long_name(name: str, title: str = "") -> str:
    """The name as a headline."""
    return title or str(LONG.get(name, name))


def say(problem: Problem) -> Said:
    """One problem in words."""
    word = braced(problem.word)
    sentences = {
        "missing": _("%(word)s is missing: without it the model does not get what it needs."),
        "unknown": _("%(word)s is not known here and would go to the model as it stands."),
        "outside": _("%(word)s stands outside marker lines: put a line that begins with [{{mark}}] above and below."),
        "unclosed": _("This marker line opens a section, and no marker line closes it."),
        "form": _("The text never says %(word)s, the form in which answers are read best."),
    }
    shown = problem.word if problem.kind in ("unknown", "form") else word
    text = sentences[problem.kind] % {"word": shown}
    if problem.near:
        text += " " + _("Do you mean %(word)s?") % {"word": braced(problem.near)}
    return Said(problem.line, text, problem.is_error)


def version_words(version: str) -> str:
    """The version that a block remembers, in words: "default 1.0" or "your version 3"."""
    name, _space, number = version.rpartition(" ")
    if name != "yours":
        return _("default %(number)s") % {"number": number}
    return _("your version %(number)s") % {"number": number}
