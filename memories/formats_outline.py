"""Notes as people write them: headings, lists of every kind, wrapped lines and prose between them (pure).

One reader for all of them, fed line by line, so that a file that mixes them loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memories import formats_lines as look
from memories.blocks import clean_bullet, is_topic
from memories.formats_types import IMPORTED, Bullet, Leftover, OpenSection, Section, closed

MOST_BULLETS = 50  # of one block; further ones begin the next
LONG_HEADING = 200  # characters; a longer "heading" is a sentence
LONG_LINE = 300  # characters of running text that are cut into sentences everywhere
SHORT_LEAD = 80  # characters of "Family:" above a list
Lines = list[tuple[int, str]]


@dataclass(slots=True)
class _Heading:
    level: int
    text: str
    line: int
    above: tuple[_Heading, ...] = ()
    is_used: bool = False  # something stands right under it
    is_needed: bool = False  # something stands under it or under a heading below it


@dataclass(slots=True)
class _Lead:
    """A line that ends in a colon and says what the list below it is about."""

    indent: int
    text: str
    line: int
    is_used: bool = False


@dataclass(slots=True)
class Outline:
    """Reads lines into sections. `label` is for what stands under no heading.

    `own_labels` = False: headings begin sections and are no labels (`## Memory 3` of an older memory file).
    `by_sentence`: running text is cut into sentences always, not only when it is long.
    `prefix`: what stands in front of each bullet of a block with provenance prefixes.
    `is_block`: these are the lines of one block, which is not divided further; its label stays in front.
    """

    label: str = IMPORTED
    date: str = ""
    own_labels: bool = True
    by_sentence: bool = False
    prefix: str = ""
    is_block: bool = False
    leftovers: list[Leftover] = field(default_factory=list)
    structure: set[int] = field(default_factory=set)
    _sections: list[OpenSection] = field(default_factory=list)
    _headings: list[_Heading] = field(default_factory=list)  # all of them
    _under: list[_Heading | None] = field(default_factory=list)  # the heading of each section
    _leads: list[_Lead] = field(default_factory=list)
    _marks: dict[int, str] = field(default_factory=dict)  # lines that are a section's date or beginning
    _open: Lines = field(default_factory=list)  # the bullet or the running text that the next line may belong to
    _is_bullet: bool = False
    _size: int = 0  # characters in `_open`

    def __post_init__(self) -> None:
        self._start(OpenSection(self.label, self.date), None)

    def read(self, lines: Iterable[tuple[int, str]]) -> None:
        for number, raw in lines:
            self.feed(number, raw)

    def end(self) -> tuple[Section, ...]:
        """The sections, in the order of the text. What a heading promised and did not keep is left over."""
        self._leave_list()
        title = self._title()
        for heading in self._headings:
            if heading is title or not heading.is_needed:
                self._leave(heading.line, heading.text, "title" if heading.is_needed else "empty_heading")
        for section, under in zip(self._sections, self._under, strict=True):
            if under is not None:
                path = [one for one in under.above if not one.is_used and one is not title]
                lead = [self.label] if self.is_block else []
                section.label = " › ".join([*lead, *(one.text for one in (*path, under))])
                section.date = section.date or self.date
                section.lines = [*(one.line for one in path), under.line, *section.lines]
        for section in self._sections:
            for number in section.lines if not section.bullets else ():
                if number in self._marks:
                    self._leave(number, self._marks[number], "empty_heading")
        return closed(self._sections)

    def feed(self, number: int, raw: str) -> None:
        """Take one line, with its number."""
        line = look.without_quote(clean_bullet(raw))
        if not line:
            self._close()
            if raw.strip() and not raw.isspace():
                self._leave(number, raw, "no_words")
        elif not look.has_words(line) or look.FENCE.fullmatch(line):
            self._close()
            self._leave(number, line, "no_words")
        elif not self._special(number, line):
            self._text(number, raw, line)

    def _special(self, number: int, line: str) -> bool:
        """Headings, dates, comments: what is not part of a memory."""
        if self._is_heading(number, line):
            return True
        match = look.EXTRACTED.fullmatch(line)
        if match and not self._sections[-1].date:
            self._close()
            self._sections[-1].date = match[1].strip()
            self._mark(self._sections[-1], number, line)
            return True
        if look.COMMENT.fullmatch(line):
            self._close()
            self._leave(number, line, "comment")
            return True
        return False

    def _is_heading(self, number: int, line: str) -> bool:
        match = look.HEADING.match(line)
        old = look.MEMORY_HEADING.fullmatch(line)
        if old and not self.own_labels:
            self._begin_old(number, line, old[1])
            return True
        if match is None or len(line) > LONG_HEADING or not look.has_words(match[2]):
            return False
        self._begin(len(match[1]), match[2].rstrip("# \t") or match[2], number)
        return True

    def _text(self, number: int, raw: str, line: str) -> None:
        if self.prefix and line.startswith(self.prefix):
            line = "- " + line[len(self.prefix) :]
        mark = look.MARK.match(line)
        text = line[mark.end() :].strip() if mark else line
        if look.NOTE.match(text):
            self._close()
            self._leave(number, line, "note")
        elif mark and look.has_words(text):
            self._bullet(number, look.indent_of(raw), text)
        elif self._open and self._belongs(line):
            self._more(number, line)
        else:
            self._running(number, line)

    def _belongs(self, line: str) -> bool:
        if self._size > look.LONGEST:
            return False
        return self._is_bullet or look.goes_on(self._open[-1][1], line)

    def _bullet(self, number: int, indent: int, text: str) -> None:
        self._close()
        while self._leads and self._leads[-1].indent >= indent:
            self._drop_lead()
        if _is_lead(text):
            self._leads.append(_Lead(indent, text, number))
            return
        self._open, self._is_bullet, self._size = [(number, text)], True, len(text)

    def _running(self, number: int, line: str) -> None:
        self._leave_list()
        if _is_lead(line):
            self._leads.append(_Lead(-1, line, number))
            return
        self._open, self._is_bullet, self._size = [(number, line)], False, len(line)

    def _more(self, number: int, line: str) -> None:
        self._open.append((number, line))
        self._size += len(line)

    def _close(self) -> None:
        """Nothing more belongs to the open bullet or text."""
        lines, self._open = self._open, []
        if not lines:
            return
        if self._is_bullet:
            for lead in self._leads:
                lead.is_used = True
            lines = [*((lead.line, lead.text) for lead in self._leads), *lines]
            self._add(" ".join(text for _number, text in lines), tuple(number for number, _text in lines))
        elif self.by_sentence or self._size > LONG_LINE:
            for sentence, numbers_of in look.sentences_of_lines(lines):
                self._add(sentence, numbers_of)
        else:
            self._add(" ".join(text for _number, text in lines), tuple(number for number, _text in lines))

    def _add(self, text: str, lines: tuple[int, ...]) -> None:
        if not look.has_words(text):
            self._leave(lines[0], text, "no_words")
            return
        section = self._sections[-1]
        if section.bullets and not self.is_block and (len(section.bullets) >= MOST_BULLETS or is_topic(text)):
            section = OpenSection(section.label, section.date)
            self._start(section, self._under[-1])
        under = self._under[-1]
        if under is not None and not under.is_used:
            under.is_used = True
            for heading in (*under.above, under):
                heading.is_needed = True
        section.bullets.append(Bullet(clean_bullet(text), lines))

    def _leave(self, number: int, text: str, why: str) -> None:
        self.leftovers.append(Leftover(number, text, why))

    def _drop_lead(self) -> None:
        lead = self._leads.pop()
        if not lead.is_used:
            self._add(lead.text, (lead.line,))

    def _leave_list(self) -> None:
        self._close()
        while self._leads:
            self._drop_lead()

    def _start(self, section: OpenSection, under: _Heading | None) -> None:
        self._sections.append(section)
        self._under.append(under)

    def _begin(self, level: int, text: str, number: int) -> None:
        """A heading begins a section; those above it that have no text of their own go into its label (`end`)."""
        self._leave_list()
        last = self._headings[-1] if self._headings else None
        known = (*last.above, last) if last else ()
        above = tuple(one for one in known if one.level < level)
        heading = _Heading(level, text, number, above)
        self._headings.append(heading)
        self._start(OpenSection(text, look.date_in(text)), heading)

    def _title(self) -> _Heading | None:
        """The heading over the whole text: the first, when no other is as high and nothing stands right under it."""
        if len(self._headings) < 2 or self._headings[0].is_used:
            return None
        first, *others = self._headings
        return first if first.is_needed and all(one.level > first.level for one in others) else None

    def _begin_old(self, number: int, line: str, rest: str) -> None:
        """`## Memory 3` begins a block without a label."""
        self._leave_list()
        section = OpenSection(self.label, look.date_in(rest))
        self._start(section, None)
        self._mark(section, number, line)
        if look.has_words(rest) and not section.date:
            self._leave(number, rest.strip(" -–—:"), "heading_rest")

    def _mark(self, section: OpenSection, number: int, line: str) -> None:
        section.lines.append(number)
        self._marks[number] = line


def _is_lead(text: str) -> bool:
    return text.endswith((":", "：")) and len(text) <= SHORT_LEAD
