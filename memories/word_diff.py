"""What changed between two wordings, word by word (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

MAX_WORDS = 4_000
_PIECES = re.compile(r"\s+|[\w’']+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """A stretch of text; `kind` is "same", "del" (only in the old) or "ins" (only in the new)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Row:
    """An old and a new line side by side, as pieces; an empty side means that the line is new or gone."""

    old: list[Piece]
    new: list[Piece]

    @property
    def is_same(self) -> bool:
        return bool(self.old and self.new) and all(piece.kind == "same" for piece in (*self.old, *self.new))


def word_diff(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Both wordings cut into pieces. Beyond `MAX_WORDS` words in one of them the whole text counts as changed."""
    if old == new:
        return [Piece("same", old)], [Piece("same", new)]
    a, b = _PIECES.findall(old), _PIECES.findall(new)
    if max(len(a), len(b)) > MAX_WORDS:
        return [Piece("del", old)], [Piece("ins", new)]
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if a2 > a1:
            left.append(Piece("same" if tag == "equal" else "del", "".join(a[a1:a2])))
        if b2 > b1:
            right.append(Piece("same" if tag == "equal" else "ins", "".join(b[b1:b2])))
    return left, right


def in_line(old: str, new: str) -> list[Piece]:
    """One text in which both wordings can be read: what went stands in front of what came in its place."""
    found: list[Piece] = []
    a, b = _PIECES.findall(old), _PIECES.findall(new)
    if max(len(a), len(b)) > MAX_WORDS:
        return [Piece("del", old), Piece("ins", new)]
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Piece("same", "".join(a[a1:a2])))
            continue
        found += [Piece("del", "".join(a[a1:a2]))] if a2 > a1 else []
        found += [Piece("ins", "".join(b[b1:b2]))] if b2 > b1 else []
    return found


def lines_in_line(old: Sequence[str], new: Sequence[str]) -> list[list[Piece]]:
    """Each line of `new` with what changed in it since `old`; lines that went stand where they stood."""
    found: list[list[Piece]] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for left, right in zip_longest(old[a1:a2], new[b1:b2]):
            if tag == "equal":
                found.append([Piece("same", left)])
            elif right is None:
                found.append([Piece("del", left)])
            else:
                found.append([Piece("ins", right)] if left is None else in_line(left, right))
    return found


def line_rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """Lines matched by likeness of position: equal lines stand side by side, replaced ones are compared by word."""
    rows: list[Row] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Row([Piece("same", text)], [Piece("same", text)]) for text in old[a1:a2]]
            continue
        for left, right in zip_longest(old[a1:a2], new[b1:b2]):
            rows.append(_row(left, right))
    return rows


def _row(left: str | None, right: str | None) -> Row:
    if left is None:
        return Row([], [Piece("ins", right or "")])
    if right is None:
        return Row([Piece("del", left)], [])
    return Row(*word_diff(left, right))
