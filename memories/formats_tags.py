"""Files with <memory> tags, however badly they are written: unclosed, nested, smart quotes, text around them (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memories.blocks import UNKNOWN, unescape_attr
from memories.formats_lines import has_words
from memories.formats_outline import Outline
from memories.formats_types import IMPORTED, Leftover, Reading

START = re.compile(r"<\s*(/?)\s*memory\b", re.IGNORECASE)
VALUE = r"\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[“”„][^“”\n]{0,2000}[“”]|[‘’‚][^‘’\n]{0,2000}[‘’]"
REST = re.compile(rf"(?:{VALUE}|[^<>\n\"'“”„‘’‚])*+>")
PLAIN_REST = re.compile(r"[^>\n]{0,4000}>")
ATTRIBUTE = re.compile(rf"([\w-]+)\s*=\s*({VALUE}|[^\s\"'>“”„]+)")
DATED_PREFIX = re.compile(r"\[\d{4}-\d{2}-\d{2}[^\]|]{0,20}\|[^\]]{0,500}\] - ")


@dataclass
class _Tag:
    """One tag of the text. `end` is where it ends; None for an opening tag that never does."""

    start: int
    end: int | None
    is_closing: bool
    attributes: str = ""
    is_matched: bool = False


@dataclass
class _Walk:
    """Where reading stands: the readers in order of the text, the open blocks, what found no place."""

    readers: list[Outline] = field(default_factory=list)
    stack: list[tuple[_Tag, Outline]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    structure: set[int] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    heads: list[tuple[Outline, int, str]] = field(default_factory=list)  # reader, line and label of each block
    outside: Outline | None = None
    line: int = 1


def read_tags(text: str) -> Reading:
    """All blocks and all text around them. A block whose closing tag is missing ends at the next tag."""
    walk = _Walk()
    at = 0
    for tag in _matched(list(_tags(text))):
        _feed(walk, text[at : tag.start])
        at = _take(walk, text, tag)
    _feed(walk, text[at:])
    return _reading(walk)


def _tags(text: str) -> Iterator[_Tag]:
    at = 0
    while match := START.search(text, at):
        found = REST.match(text, match.end()) or PLAIN_REST.match(text, match.end())
        at = found.end() if found else match.end()
        inside = text[match.end() : at - 1] if found else ""
        yield _Tag(match.start(), at if found else None, bool(match[1]), inside)


def _matched(tags: list[_Tag]) -> list[_Tag]:
    """The tags, those marked that have a partner."""
    waiting: list[_Tag] = []
    for tag in tags:
        if tag.end is None:
            continue
        if not tag.is_closing:
            waiting.append(tag)
        elif waiting:
            tag.is_matched = waiting.pop().is_matched = True
    return tags


def _feed(walk: _Walk, text: str) -> None:
    """Give the text between two tags to the reader whose turn it is, with its line numbers."""
    if not text:
        return
    if walk.stack:
        reader = walk.stack[-1][1]
    elif walk.outside is not None:
        reader = walk.outside
    else:
        reader = walk.outside = Outline(IMPORTED)
        walk.readers.append(reader)
    for number, line in enumerate(text.split("\n"), walk.line):
        reader.feed(number, _without_prefix(line) if walk.stack else line)
    walk.line += text.count("\n")


def _without_prefix(line: str) -> str:
    match = DATED_PREFIX.match(line.lstrip())
    return f"- {line.lstrip()[match.end() :]}" if match else line


def _take(walk: _Walk, text: str, tag: _Tag) -> int:
    """Act on a tag; returns where the text goes on."""
    while walk.stack and not walk.stack[-1][0].is_matched:  # never closed: it ends here
        walk.stack.pop()
        walk.warnings.append("unclosed")
    if tag.end is None:
        return _take_broken(walk, text, tag)
    number = walk.line
    walk.structure.add(number)
    walk.line += text.count("\n", tag.start, tag.end)
    walk.outside = None
    if not tag.is_closing:
        _open(walk, tag, number)
    elif tag.is_matched:
        walk.stack.pop()
    else:
        walk.leftovers.append(Leftover(number, text[tag.start : tag.end], "stray_close"))
    return tag.end


def _take_broken(walk: _Walk, text: str, tag: _Tag) -> int:
    """A tag without its `>` is left over with the rest of its line."""
    end = text.find("\n", tag.start)
    end = len(text) if end < 0 else end
    nearest = START.search(text, tag.start + 1, end)
    end = nearest.start() if nearest else end
    walk.leftovers.append(Leftover(walk.line, text[tag.start : end].strip(), "never_ends"))
    walk.outside = None
    return end


def _open(walk: _Walk, tag: _Tag, number: int) -> None:
    values = {name.lower(): _value(value) for name, value in ATTRIBUTE.findall(tag.attributes)}
    label, date = values.pop("chat", ""), values.pop("date", "")
    rest = ATTRIBUTE.sub(" ", tag.attributes).strip(" /\t")
    spare = [f"{name}={value}" for name, value in values.items() if value] + ([rest] if has_words(rest) else [])
    if spare:
        walk.leftovers.append(Leftover(number, " ".join(spare), "attribute"))
    reader = Outline(label.strip() or UNKNOWN, date.strip(), is_block=True)
    reader.prefix = f"[{reader.date} | {reader.label}] - "
    walk.readers.append(reader)
    walk.stack.append((tag, reader))
    walk.heads.append((reader, number, f"{label} {date}".strip()))


def _value(raw: str) -> str:
    is_quoted = len(raw) >= 2 and not raw[0].isalnum() and not raw[-1].isalnum()
    return unescape_attr(raw[1:-1] if is_quoted else raw)


def _reading(walk: _Walk) -> Reading:
    if any(not tag.is_matched for tag, _reader in walk.stack):
        walk.warnings.append("unclosed")
    found = [(reader, reader.end()) for reader in walk.readers]
    filled = {id(reader) for reader, sections in found if sections}
    for reader, number, head in walk.heads:
        if id(reader) not in filled and head:
            walk.leftovers.append(Leftover(number, head, "empty_block"))
    leftovers = [*walk.leftovers, *(one for reader in walk.readers for one in reader.leftovers)]
    return Reading(
        "memory_tags",
        tuple(section for _reader, sections in found for section in sections),
        tuple(sorted(leftovers, key=lambda one: one.line)),
        frozenset(walk.structure),
        ("already", *dict.fromkeys(walk.warnings)),
    )
