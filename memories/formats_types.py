"""What reading a foreign text gives: sections of bullets with their line numbers, and what found no place (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memories.blocks import Block, clean_bullet, clean_label

# The formats that can be told apart, in the order in which a page offers them.
FORMATS = (
    "memory_tags",
    "memory_headings",
    "markdown_headings",
    "bullets",
    "numbered",
    "freeform",
    "csv",
    "json",
    "jsonl",
    "lorebook",
    "export",
)
STRUCTURED = frozenset({"json", "jsonl", "lorebook", "export"})  # read through a readable rendering of their own
IMPORTED = "imported"


class Refused(ValueError):
    """This is nothing that memories can be read from. `code`: chat, binary, empty or too_big."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Bullet:
    """One memory and the numbers (from 1) of the lines that it was made of."""

    text: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """What becomes one block. `lines` are those that became its label or its date."""

    label: str
    date: str
    bullets: tuple[Bullet, ...]
    lines: tuple[int, ...] = ()

    @property
    def block(self) -> Block:
        return Block(self.label, self.date, tuple(one.text for one in self.bullets))


@dataclass(frozen=True, slots=True)
class Leftover:
    """A line, or the part of a line, that is in no memory; `why` is a code (memories/conversion_words.py says it)."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class Reading:
    """A foreign text, read without losing anything.

    Each line of the text that is not blank is in a bullet, is a section's label or date, is listed in `structure`
    (a closing tag, a table's head: marks without content of their own), or is left over. `shown` is the text that
    the line numbers count in, when that is not the source itself. `warnings` are codes.
    """

    format: str
    sections: tuple[Section, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    structure: frozenset[int] = frozenset()
    warnings: tuple[str, ...] = ()
    shown: str | None = None

    @property
    def memories(self) -> int:
        return sum(len(section.bullets) for section in self.sections)

    @property
    def blocks(self) -> list[Block]:
        return [section.block for section in self.sections]


@dataclass(slots=True)
class OpenSection:
    """A section while lines are still being added to it."""

    label: str
    date: str = ""
    bullets: list[Bullet] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def closed(self) -> Section:
        return Section(clean_label(self.label), clean_bullet(self.date)[:40], tuple(self.bullets), tuple(self.lines))


def closed(sections: Iterable[OpenSection]) -> tuple[Section, ...]:
    """Those that have bullets."""
    return tuple(one.closed() for one in sections if one.bullets)
