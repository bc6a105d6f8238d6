"""Mark every place of a text inside a message's safe HTML, whatever its case (pure)."""

from __future__ import annotations

import html as entities

from memories.quote_mark import PART, wrapped

MOST = 200  # places that are marked in one message


def folded(text: str) -> str:
    """As texts are compared: without case, every stretch of white space as one space."""
    return " ".join(text.casefold().split())


def mark_all(html: str, text: str) -> str:
    """`html` with `<mark>` around each place of `text`; markup between the letters does not hide a place."""
    needle = folded(text)
    if not needle:
        return html
    parts = PART.findall(html)
    letters, owners = _letters(parts)
    marked: set[int] = set()
    at, count = letters.find(needle), 0
    while at >= 0 and count < MOST:
        marked.update(owners[at : at + len(needle)])
        at, count = letters.find(needle, at + len(needle)), count + 1
    return wrapped(parts, marked) if marked else html


def _letters(parts: list[str]) -> tuple[str, list[int]]:
    """The folded text of the parts, and for each of its letters the part that it came from."""
    letters: list[str] = []
    owners: list[int] = []
    for number, part in enumerate(parts):
        for letter in "" if part.startswith("<") else entities.unescape(part).casefold():
            one = " " if letter.isspace() else letter
            if one != " " or not letters or letters[-1] != " ":
                letters.append(one)
                owners.append(number)
    return "".join(letters), owners
