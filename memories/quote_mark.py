"""Mark a quoted passage inside a message's safe HTML, whatever markup stands between its words (pure)."""

from __future__ import annotations

import html as entities
from collections.abc import Container

import regex

# The HTML comes from memories/markup.py: no attributes, so a tag ends at the next ">".
PART = regex.compile(r"<[^>]*>|&[#\w]{1,32};|.", regex.DOTALL)


def mark_quote(html: str, quote: str) -> str:
    """`html` with `<mark>` around the first place with the letters and digits of `quote`; unchanged without one."""
    wanted = _letters(quote)
    if not wanted:
        return html
    parts = PART.findall(html)
    letters: list[str] = []
    owners: list[int] = []
    for number, part in enumerate(parts):
        found = "" if part.startswith("<") else _letters(entities.unescape(part))
        letters += found
        owners += [number] * len(found)
    at = "".join(letters).find(wanted)
    if at < 0:
        return html
    return wrapped(parts, range(owners[at], owners[at + len(wanted) - 1] + 1))


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def wrapped(parts: list[str], marked: Container[int]) -> str:
    """The parts as one text, those with the numbers `marked` inside `<mark>`.

    A mark may not cross a tag: it ends before each and begins again after it.
    """
    out: list[str] = []
    is_open = False
    for number, part in enumerate(parts):
        wants = number in marked and not part.startswith("<")
        if wants != is_open:
            out.append("<mark>" if wants else "</mark>")
            is_open = wants
        out.append(part)
    return "".join(out) + ("</mark>" if is_open else "")
