"""The source of an import: its text, how it is read, and the part of it that one import takes up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accounts.models import User
from memories import formats, revisions
from memories.blocks import clean_loose
from memories.conversion_words import refusal
from memories.formats_lines import has_words
from memories.formats_text import Decoded, decode, normal
from memories.formats_types import STRUCTURED, Leftover, Reading, Refused, Section
from memories.models import MemoryFile, Proposal, RevisionText

LARGEST = 24 * 1024 * 1024  # bytes
MOST_BULLETS = 2000  # of one import: what a person can look through; the rest is the next part
MOST_BLOCKS = 1000


@dataclass(frozen=True)
class Source:
    """A text to be imported. `attachment` is the Data Bank file that it was read from, if any."""

    name: str
    text: str
    form: str
    warnings: tuple[str, ...] = ()
    attachment: str = ""


def read_source(name: str, data: bytes | str, *, attachment: str = "") -> Source:
    """Decode and tell the format. ValueError with a finished sentence for what is no notes."""
    name = clean_loose(name)
    if len(data) > LARGEST:
        raise ValueError(refusal("too_big", name))
    try:
        decoded = decode(data) if isinstance(data, bytes) else Decoded(normal(data), "text")
    except Refused as refused:
        raise ValueError(refusal(refused.code, name)) from refused
    text = clean_loose(decoded.text)  # quotes of it go into rows, which hold no NUL
    if not has_words(text):
        raise ValueError(refusal("empty", name))
    form = formats.detect(text, name)
    return Source(name, text, form, decoded.warnings, attachment)


def reading_of(name: str, text: str, form: str, warnings: Iterable[str] = ()) -> Reading:
    """The source as sections; its warnings are those of decoding and of reading. ValueError for a chat."""
    try:
        found = formats.read(text, form)
    except Refused as refused:
        raise ValueError(refusal(refused.code, name)) from refused
    extra = ["settings"] if found.shown is not None and form != "json" else []
    if form not in STRUCTURED and name.lower().endswith((".json", ".jsonl")) and text.lstrip()[:1] in ("{", "["):
        extra.append("broken_json")
    return replace(
        found,
        warnings=tuple(dict.fromkeys([*warnings, *found.warnings, *extra])),
        shown=None if found.shown is None else clean_loose(found.shown),  # JSON has ways to write NUL
        leftovers=tuple(replace(one, text=clean_loose(one.text)) for one in found.leftovers),
    )


@dataclass(frozen=True)
class Portion:
    """The sections that one import takes up, and the lines from `first` to `last` that they stand on.

    `next` is the number of the section where the following import goes on; None when this is the last.
    """

    sections: tuple[Section, ...]
    leftovers: tuple[Leftover, ...]
    first: int
    last: int
    next: int | None


def portion(reading: Reading, start: int, total_lines: int) -> Portion:
    """As many sections from number `start` as a person can look through."""
    bullets, end = 0, start
    for place, section in enumerate(reading.sections[start:], start):
        bullets += len(section.bullets)
        if place > start and (bullets > MOST_BULLETS or place - start >= MOST_BLOCKS):
            break
        end = place + 1
    is_last = end >= len(reading.sections)
    first = 1 if start == 0 else _first_line(reading.sections[start])
    last = total_lines if is_last else _first_line(reading.sections[end]) - 1
    leftovers = tuple(one for one in reading.leftovers if first <= one.line <= last)
    return Portion(reading.sections[start:end], leftovers, first, last, None if is_last else end)


def _first_line(section: Section) -> int:
    return min([*section.lines, *(line for bullet in section.bullets[:1] for line in bullet.lines)], default=1)


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as [first, last] pairs in order."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def keep_text(file: MemoryFile, text: str) -> int:
    """The id of the stored source; the same text is stored once."""
    return revisions.pack(file, [text])[0]


def kept_text(user: User, text_id: int) -> str:
    """The text stored under that id."""
    return revisions.unpack(RevisionText.objects.for_user(user).get(pk=text_id).data)


def text_of(proposal: Proposal) -> str:
    """The source of a proposal as text."""
    return "" if proposal.source is None else revisions.unpack(proposal.source.data)


def quotes(name: str, lines: Sequence[str], numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Evidence of an imported bullet: each line that it was made of, with its number and words."""
    return [
        {"source": name, "line": number, "quote": lines[number - 1].strip()[:400]}
        for number in list(dict.fromkeys(numbers))[:12]
        if 0 < number <= len(lines)
    ]


def size_of(report: dict[str, Any]) -> int:
    """Bytes of a report, roughly."""
    return len(json.dumps(report, ensure_ascii=False))
