"""What a prompt's text needs, and what is wrong with one: unknown and missing variables, missing marker lines (pure).

Material (card, memories, messages, notes) stands between two lines that begin with `[{{mark}}]`, so that no sentence in
it can pass for an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from memories.templating import PLACEHOLDER

ANY_BRACES = re.compile(r"\{\{([^{}\n]{0,60})\}\}")
MARKER = re.compile(r"[ \t>*#-]*\[\{\{mark\}\}\]")
MATERIAL = frozenset("charCard existingMemories recentMessages participants sourceText memories blocks".split())
# Names that other programs use for the same things.
ELSEWHERE = {"char": "charName", "card": "charCard", "messages": "recentMessages", "source": "sourceText"}
NEEDED = {
    "extraction_together": ("charName", "charCard", "participants", "existingMemories", "recentMessages", "mark"),
    "extraction": ("charName", "charCard", "existingMemories", "recentMessages", "mark"),
    "extraction_small": ("charName", "charCard", "existingMemories", "recentMessages", "mark"),
    "extraction_group": ("charName", "charCard", "participants", "existingMemories", "recentMessages", "mark"),
}
OFFERED = {"consolidation": ("charName",)}  # variables that the shipped text may lack
ANSWER_FORMS = {"extraction": ("<memory>", "NO_NEW_MEMORIES")}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `kind`: missing, unknown, outside (material outside marker lines), unclosed (the last
    marker line opens and nothing closes it), form (a word that the answer's form needs; only a warning).

    `line` counts from 1, 0 is the text as a whole; `word` is the variable or word; `near` a name that was meant.
    """

    kind: str
    word: str
    line: int = 0
    near: str = ""

    @property
    def is_error(self) -> bool:
        return self.kind != "form"


def braced(name: str) -> str:
    """A variable as it stands in a text."""
    return "{{" + name + "}}"


def family(name: str) -> str:
    """The kind of a prompt: "extraction", "consolidation", "conversion"."""
    return name.partition("_")[0].partition(":")[0]


def variables(name: str, default: str) -> list[str]:
    """The variables that can stand in a prompt, in the order of the shipped text `default`."""
    return list(dict.fromkeys([*NEEDED.get(name, OFFERED.get(family(name), ())), *PLACEHOLDER.findall(default)]))


def needed(name: str, default: str) -> list[str]:
    """The variables without which a prompt does nothing useful: for texts that are not listed, the material of the
    shipped text and its marker."""
    listed = NEEDED.get(name)
    if listed is not None:
        return list(listed)
    return [one for one in variables(name, default) if one in MATERIAL or one == "mark"]


def check(name: str, text: str, default: str) -> list[Problem]:
    """What is wrong with `text` as the prompt `name`, in the order of its lines; problems of the whole come last."""
    allowed = variables(name, default)
    lines = text.split("\n")
    found = [problem for number, line in enumerate(lines, 1) for problem in _unknown(line, number, allowed)]
    if "mark" in allowed:
        found += _outside(lines)
    used = set(PLACEHOLDER.findall(text))
    found += [Problem("missing", one) for one in needed(name, default) if one not in used]
    forms = ANSWER_FORMS.get(family(name), ())
    found += [Problem("form", one) for one in forms if one not in text and one in default]
    return sorted(found, key=lambda one: (one.line == 0, one.line))


def counts(text: str, names: Iterable[str]) -> dict[str, int]:
    """How often each variable stands in the text."""
    found = PLACEHOLDER.findall(text)
    return {name: found.count(name) for name in names}


def _unknown(line: str, number: int, allowed: list[str]) -> list[Problem]:
    return [
        Problem("unknown", match[0], number, _meant(match[1].strip(), allowed))
        for match in ANY_BRACES.finditer(line)
        if match[1] not in allowed
    ]


def _meant(word: str, allowed: list[str]) -> str:
    by_case = {one.casefold(): one for one in allowed}
    known = ELSEWHERE.get(word, word).casefold()
    close = get_close_matches(known, by_case, n=1, cutoff=0.6)
    return by_case[close[0]] if close else ""


def _outside(lines: list[str]) -> list[Problem]:
    """Material in front of, between or behind the sections; marker lines open and close in turn."""
    found: list[Problem] = []
    opened = 0
    for number, line in enumerate(lines, 1):
        if MARKER.match(line):
            opened = 0 if opened else number
        elif not opened:
            words = (word for word in PLACEHOLDER.findall(line) if word in MATERIAL)
            found += [Problem("outside", word, number) for word in words]
    return [*found, Problem("unclosed", "mark", opened)] if opened else found
