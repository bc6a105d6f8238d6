"""Literal templating in one pass: what stands in a value is never expanded again (architecture, rule 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
EMPTY = {"charCard": "(not available)", "existingMemories": "(none yet)"}


def substitute(template: str, values: Mapping[str, str]) -> str:
    """Replace each `{{name}}` by its value; a known name without a value says so, an unknown one stays as it is."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        return value or EMPTY.get(match[1], "" if match[1] in values else match[0])

    return PLACEHOLDER.sub(fill, template)
