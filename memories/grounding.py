"""Numbers of a text, so that a memory's can be looked for among those of its sources (pure)."""

from __future__ import annotations

import regex

NUMBER = regex.compile(r"(?<![\p{L}\p{N}])\d{1,3}(?:[.,’' ]\d{3})+(?!\d)|\d+")
SMALL = 99  # numbers up to here are often written as words


def numbers(text: str) -> list[str]:
    """The numbers of a text that are written in digits and no small ones, without their separators, each once."""
    found = ("".join(filter(str.isdecimal, match[0])) for match in NUMBER.finditer(text))
    return list(dict.fromkeys(one for one in found if len(one) > 9 or (one and int(one) > SMALL)))
