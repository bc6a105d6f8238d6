"""Literal templating in one pass: what stands in a value is never expanded again (architecture, rule 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
EMPTY = {"charCard": "(not available)", "existingMemories": "(none yet)"}


def substitute(template: str, values: Mapping[str, str]) -> str:
    """Replace each `{{name}}` by its value; a known name without a value says so, an unknown one stays as it is."""
    return "".join(text for _name, text in pieces(template, values))


def pieces(template: str, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """The filled template cut at its placeholders: (name, value) for each, ("", words) between them. Joined they are
    the whole text."""
    found: list[tuple[str, str]] = []
    start = 0
    for match in PLACEHOLDER.finditer(template):
        value = values.get(match[1], "") or EMPTY.get(match[1], "" if match[1] in values else match[0])
        found += [("", template[start : match.start()]), (match[1], value)]
        start = match.end()
    return [part for part in (*found, ("", template[start:])) if part[1]]
