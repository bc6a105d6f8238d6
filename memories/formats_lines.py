"""What a single line of notes is, and how running text falls into sentences (pure)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

MARK = re.compile(r"(?:(?:[-*+•‣◦▪▫●○–—]|\(?\d{1,4}[.)]|[a-zA-Z][.)])(?=\s)|[•‣◦▪▫●○])[ \t]*(?:\[[ xX]\][ \t]+)?")
DASH_OR_STAR = re.compile(r"(?:[-*+•‣◦▪▫●○–—](?=\s)|[•‣◦▪▫●○])")
NUMBER = re.compile(r"\(?\d{1,4}[.)]\s")
QUOTED = re.compile(r"(?:> \s*)*(?:>\Z)?")
HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
MEMORY_HEADING = re.compile(r"##[ \t]*Memory[ \t]+\d+\b(.*)", re.IGNORECASE)
EXTRACTED = re.compile(r"[_*]{0,3}Extracted:[ \t]*([^_*]{1,40})[_*]{0,3}", re.IGNORECASE)
DATE = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}))?(?!\d)")
FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*[\w+-]{0,20}")
NOTE = re.compile(r"(?:T[O]-?DO|F[I]XME|X{3})\b")
COMMENT = re.compile(r"<!--.*-->")
ENDED = tuple('.!?…:;。！？"”»)]*_')
SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"”’»)\]*_])\s+|(?<=[。！？])(?![」』”’）\s])")
NOT_AN_END = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Lt|Sgt|vs|cf|e\.g|i\.e|No)|\b[A-Z])\.$")
LONGEST = 2000  # characters of one bullet made of running text


def has_words(line: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return any(char.isalnum() for char in line)


def indent_of(raw: str) -> int:
    """How far a line is set in, a tab counting as four."""
    blank = raw[: len(raw) - len(raw.lstrip(" \t\u3000"))]
    return len(blank.expandtabs(4))


def without_quote(line: str) -> str:
    """A Markdown quotation's line without its `>`."""
    found = QUOTED.match(line)
    return line[found.end() :] if found else line


def goes_on(before: str, line: str) -> bool:
    """Whether `line` looks like the rest of a sentence that was wrapped behind `before`."""
    if before.endswith(ENDED):
        return False
    return line[:1].islower() or len(before) >= 60


def date_in(text: str) -> str:
    """The first date of the form YYYY-MM-DD with or without a time; "" when there is none."""
    match = DATE.search(text)
    return " ".join(part for part in match.groups() if part) if match else ""


def sentences(text: str) -> list[str]:
    """`text` cut behind its sentences, every character but the blanks between kept."""
    found: list[str] = []
    for piece in SENTENCE.split(text):
        if found and NOT_AN_END.search(found[-1][-8:]):
            found[-1] += " " + piece
        elif piece:
            found.append(piece)
    return [part for piece in found for part in _cut(piece)]


def _cut(piece: str) -> list[str]:
    """What has no end is cut between two words."""
    parts, start = [], 0
    while len(piece) - start > LONGEST:
        at = piece.rfind(" ", start + LONGEST // 2, start + LONGEST)
        at = start + LONGEST if at < 0 else at
        parts.append(piece[start:at])
        start = at + 1 if piece[at] == " " else at
    return [*parts, piece[start:]] if start < len(piece) else parts


def sentences_of_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[str, tuple[int, ...]]]:
    """The sentences of lines that belong together, each with the numbers of the lines that it stands in."""
    texts = [" ".join(text.split()) for _number, text in lines]
    starts, at = [], 0
    for text in texts:
        starts.append(at)
        at += len(text) + 1
    joined = " ".join(texts)
    found, place = [], 0
    for sentence in sentences(joined):
        start = max(joined.find(sentence[:40], place), place)
        place = start + len(sentence)
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, place - 1) - 1
        found.append((sentence, tuple(number for number, _text in lines[first : last + 1])))
    return found
