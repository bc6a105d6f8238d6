"""Files with <memory> tags, however badly they are written: unclosed, nested, smart quotes, text around them (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memories.blocks import UNKNOWN, unescape_attr
from memories.formats_lines import has_words
from memories.formats_outline import Outline
from memories.formats_types import IMPORTED, Leftover, Reading, Section

START = re.compile(r"<\s*(?:(/)\s*)?memory\b", re.IGNORECASE)
VALUE = r"\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[“”„][^“”\n]{0,2000}[“”]|[‘’‚][^‘’\n]{0,2000}[‘’]"
REST = re.compile(rf"(?:{VALUE}|[^<>\n\"'“”„‘’‚])*+>")
LONGEST_TAG = 4000  # characters
PLAIN_REST = re.compile(r"[^>\n]{0,4000}>")
ATTRIBUTE = re.compile(rf"([\w-]+)\s*=\s*({VALUE}|[^\s\"'>“”„]+)")
DATED_PREFIX = re.compile(r"\[\d{4}-\d{2}-\d{2}[^\]|]{0,20}\|[^\]]{0,500}\] - ")


@dataclass(slots=True)
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

    by_sentence: bool = False
    found: list[tuple[Section, ...]] = field(default_factory=list)  # what each reader found, filled when it ends
    readers: dict[int, Outline] = field(default_factory=dict)  # those that are still reading, by their place in `found`
    stack: list[tuple[_Tag, int]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    structure: set[int] = field(default_factory=set)
    warnings: dict[str, None] = field(default_factory=dict)
    heads: dict[int, tuple[int, str]] = field(default_factory=dict)  # line and label of each open block
    outside: int | None = None
    line: int = 1

    def begin(self, reader: Outline) -> int:
        self.found.append(())
        self.readers[len(self.found) - 1] = reader
        return len(self.found) - 1

    def end(self, place: int) -> None:
        """This reader has read all that belongs to it."""
        reader = self.readers.pop(place)
        self.found[place] = reader.end()
        self.leftovers += reader.leftovers
        line, head = self.heads.pop(place, (0, ""))
        if head and not self.found[place]:
            self.leftovers.append(Leftover(line, head, "empty_block"))

    def leave_outside(self) -> None:
        if self.outside is not None:
            self.end(self.outside)
        self.outside = None


def has_tag(text: str) -> bool:
    """Whether there is at least one whole opening tag."""
    return any(tag.end is not None and not tag.is_closing for tag in _tags(text))


def read_tags(text: str, *, by_sentence: bool = False) -> Reading:
    """All blocks and all text around them. A block whose closing tag is missing ends at the next tag.

    `by_sentence`: running text outside of blocks is cut into sentences.
    """
    walk = _Walk(by_sentence)
    tags = _matched(list(_tags(text)))
    at = 0
    for place, tag in enumerate(tags):
        _feed(walk, text[at : tag.start])
        following = tags[place + 1].start if place + 1 < len(tags) else len(text)
        at = _take(walk, text, tag, following)
    _feed(walk, text[at:])
    return _reading(walk)


def _tags(text: str) -> Iterator[_Tag]:
    at = 0
    while match := START.search(text, at):
        found = REST.match(text, match.end(), match.end() + LONGEST_TAG) or PLAIN_REST.match(text, match.end())
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
    if not walk.stack and walk.outside is None:
        walk.outside = walk.begin(Outline(IMPORTED, by_sentence=walk.by_sentence))
    reader = walk.readers[walk.stack[-1][1] if walk.stack else walk.outside or 0]
    for number, line in enumerate(text.split("\n"), walk.line):
        reader.feed(number, _without_prefix(line) if walk.stack else line)
    walk.line += text.count("\n")


def _without_prefix(line: str) -> str:
    match = DATED_PREFIX.match(line.lstrip())
    return f"- {line.lstrip()[match.end() :]}" if match else line


def _take(walk: _Walk, text: str, tag: _Tag, following: int) -> int:
    """Act on a tag; returns where the text goes on."""
    while walk.stack and not walk.stack[-1][0].is_matched:  # never closed: it ends here
        walk.end(walk.stack.pop()[1])
        walk.warnings["unclosed"] = None
    walk.leave_outside()
    if tag.end is None:
        return _take_broken(walk, text, tag, following)
    number = walk.line
    walk.structure.add(number)
    walk.line += text.count("\n", tag.start, tag.end)
    if not tag.is_closing:
        _open(walk, tag, number)
    elif tag.is_matched:
        walk.end(walk.stack.pop()[1])
    else:
        walk.leftovers.append(Leftover(number, text[tag.start : tag.end], "stray_close"))
    return tag.end


def _take_broken(walk: _Walk, text: str, tag: _Tag, following: int) -> int:
    """A tag without its `>` is left over with the rest of its line."""
    end = text.find("\n", tag.start, following)
    end = following if end < 0 else end
    walk.leftovers.append(Leftover(walk.line, text[tag.start : end].strip(), "never_ends"))
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
    place = walk.begin(reader)
    walk.stack.append((tag, place))
    walk.heads[place] = (number, f"{label} {date}".strip())


def _value(raw: str) -> str:
    is_quoted = len(raw) >= 2 and not raw[0].isalnum() and not raw[-1].isalnum()
    return unescape_attr(raw[1:-1] if is_quoted else raw)


def _reading(walk: _Walk) -> Reading:
    if walk.stack:
        walk.warnings["unclosed"] = None
    for place in list(walk.readers):
        walk.end(place)
    return Reading(
        "memory_tags",
        tuple(section for sections in walk.found for section in sections),
        tuple(sorted(walk.leftovers, key=lambda one: one.line)),
        frozenset(walk.structure),
        ("already", *walk.warnings),
    )
