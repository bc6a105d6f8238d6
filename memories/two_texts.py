"""What differs between two texts of one memory file, in a person's words instead of tags (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from memories.blocks import clean_bullet, is_topic, parse_memories, unescape_attr

OPENING = re.compile(r"<memory\b([^>]*)>", re.IGNORECASE)
LABEL = re.compile(r'\bchat="([^"]*)"', re.IGNORECASE)
CLOSING = re.compile(r"</memory\s*>", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """`kind` is label, topic, memory, loose or same; `same` stands for `count` lines that both texts have."""

    kind: str
    text: str = ""
    is_only: bool = False
    count: int = 0


def sides(ours: str, theirs: str) -> tuple[list[Line], list[Line]]:
    """Both texts, each with its own lines marked and what they share folded up, save the line above a difference."""
    one, other = _lines(ours), _lines(theirs)
    start = _shared(one, other)
    end = _shared(one[start:][::-1], other[start:][::-1])
    matcher = SequenceMatcher(None, one[start : len(one) - end], other[start : len(other) - end], autojunk=False)
    left: list[Line] = []
    right: list[Line] = []
    same = one[:start]
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            same = one[start + a : start + b]
            continue
        for side in (left, right):
            side.extend(_folded(same))
        left += [_only(line) for line in one[start + a : start + b]]
        right += [_only(line) for line in other[start + c : start + d]]
        same = []
    for side in (left, right):
        side.extend(_rest(same + one[len(one) - end :]))
    return left, right


def _lines(text: str) -> list[Line]:
    """The lines that say something; without blocks the text stays as it is."""
    has_blocks = bool(parse_memories(text))
    found = (_line(line.strip()) if has_blocks else Line("loose", line.strip()) for line in text.splitlines())
    return [line for line in found if line.text]


def _line(text: str) -> Line:
    if opening := OPENING.match(text):
        label = LABEL.search(opening[1])
        return Line("label", unescape_attr(label[1]) if label else "")
    if CLOSING.fullmatch(text):
        return Line("loose")
    if not text.startswith(("- ", "* ")):
        return Line("loose", text)
    bullet = clean_bullet(text[2:])
    return Line("topic", bullet.strip("[]")) if is_topic(bullet) else Line("memory", bullet)


def _only(line: Line) -> Line:
    return Line(line.kind, line.text, is_only=True)


def _shared(one: list[Line], other: list[Line]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _folded(same: list[Line]) -> list[Line]:
    """Shared lines in front of a difference: the last one stays to be seen."""
    return [*_rest(same[:-1]), *same[-1:]]


def _rest(same: list[Line]) -> list[Line]:
    return [Line("same", count=len(same))] if same else []
