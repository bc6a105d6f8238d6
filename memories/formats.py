"""Foreign notes become sections of memories without losing a line: which format it is, and the reading of each (pure).

Detection and what each format becomes follow spec/charmemory §5.2; unlike there, lines that fit no pattern are read
as running text or listed as left over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from memories import formats_json, formats_lorebook
from memories import formats_lines as look
from memories.blocks import UNKNOWN
from memories.formats_outline import Outline
from memories.formats_tables import looks_like_table, read_table
from memories.formats_tags import START, has_tag, read_tags
from memories.formats_text import normal
from memories.formats_types import FORMATS, IMPORTED, STRUCTURED, Reading, Refused

__all__ = [
    "FORMATS",
    "Reading",
    "Refused",
    "detect",
    "detect_format",
    "lines_of",
    "numbers_of",
    "read",
]

SAMPLE_LINES = 20_000  # that tell what kind of list a text is
LISTED, NUMBERED = 0.4, 0.3


def detect(text: str | None, name: str = "") -> str:
    """The format of a text (one of FORMATS); its file name helps where the text alone does not tell."""
    text = normal(text or "")
    ending = name.lower().rpartition(".")[2]
    start = text.lstrip()[:1]
    if start in ("{", "[") and (found := _detect_json(text)):
        return found
    if has_tag(text):
        return "memory_tags"
    if (ending in ("csv", "tsv") and text.strip()) or looks_like_table(text):
        return "csv"
    return "export" if formats_lorebook.is_tagged(text) else detect_format(text)


def _detect_json(text: str) -> str:
    if formats_json.looks_like_lines(text):
        return "jsonl"
    try:
        value = formats_json.parse_json(text)
    except ValueError:
        return ""
    return formats_json.kind_of(value) if isinstance(value, dict | list) else ""


def detect_format(text: str | None) -> str:
    """The format of plain notes (spec/charmemory §5.2)."""
    text = text or ""
    if has_tag(text):
        return "memory_tags"
    lines = [line.strip() for line in text.split("\n") if line.strip()][:SAMPLE_LINES]
    if any(look.MEMORY_HEADING.fullmatch(line) for line in lines):
        return "memory_headings"
    count = max(1, len(lines))
    if sum(bool(look.DASH_OR_STAR.match(line)) for line in lines) > LISTED * count:
        return "bullets"
    if sum(bool(look.NUMBER.match(line)) for line in lines) > NUMBERED * count:
        return "numbered"
    is_headed = any((match := look.HEADING.match(line)) and len(match[1]) <= 3 for line in lines)
    return "markdown_headings" if is_headed else "freeform"


def lines_of(text: str, form: str) -> list[str]:
    """The lines that the numbers of a reading count in: those of the text, or of its readable rendering."""
    text = normal(text)
    shown = _rendered(text, form)
    return (text if shown is None else shown).split("\n")


def read(text: str, form: str, *, label: str = IMPORTED) -> Reading:
    """Read `text` as `form`. Raises Refused for a chat; anything else is read as well as it can be."""
    text = normal(text)
    shown = _rendered(text, form)
    if shown is not None:
        return replace(_read_outline(shown, "markdown_headings", label), format=form, shown=shown)
    if form == "memory_tags":
        return read_tags(text)
    if form == "csv" and (table := read_table(text)):
        return table
    return _read_outline(text, form, label)


def _read_outline(text: str, form: str, label: str) -> Reading:
    if START.search(text):  # tags that are broken, or a person's choice against the tags
        found = read_tags(text, by_sentence=form == "freeform")
        extra = ("freeform",) if form == "freeform" else ()
        return replace(found, format=form, warnings=(*extra, *(one for one in found.warnings if one != "already")))
    is_old = form == "memory_headings"
    reader = Outline(UNKNOWN if is_old else label, own_labels=not is_old, by_sentence=form == "freeform")
    reader.read(enumerate(text.split("\n"), 1))
    sections = reader.end()
    leftovers = tuple(sorted(reader.leftovers, key=lambda one: one.line))
    return Reading(form, sections, leftovers, warnings=("freeform",) if form == "freeform" else ())


def _rendered(text: str, form: str) -> str | None:
    """A structured text as an outline; None for what is read as it stands, also JSON that is broken."""
    if form not in STRUCTURED:
        return None
    if form == "export" and formats_lorebook.is_tagged(text):
        return "\n".join(_tagged(text))
    if form == "jsonl":
        return "\n".join(_json_lines(text))
    try:
        value = formats_json.parse_json(text)
    except ValueError:
        return None
    return "\n".join(_json(value))


def _json(value: object) -> Iterator[str]:
    if isinstance(value, list):
        formats_json.refuse_chat(value)
    book = formats_json.lorebook_of(value)
    if book is None or not isinstance(value, dict):
        return formats_json.outline(value)
    return chain(formats_lorebook.book_lines(book), formats_json.around_book(value))


def _json_lines(text: str) -> Iterator[str]:
    rows = formats_json.parse_lines(text)
    values = [value for value, broken in rows if not broken]
    if any(isinstance(one, dict) and ("chat_metadata" in one or "mes" in one) for one in values[:50]):
        yield from formats_lorebook.lines_of_chat(values)
        return
    for value, broken in rows:
        yield from ["", broken] if broken else formats_json.outline(value)


def _tagged(text: str) -> Iterator[str]:
    """Lines with a kind in brackets, grouped under a heading for each kind in a row."""
    last = ""
    for line in text.split("\n"):
        label, words = formats_lorebook.tagged_line(line)
        if label and label != last:
            yield f"## {label}"
            last = label
        yield f"- {words}" if label else line


def numbers_of(reading: Reading) -> set[int]:
    """All lines that the reading accounts for."""
    used: set[int] = set(reading.structure) | {one.line for one in reading.leftovers}
    for section in reading.sections:
        used.update(section.lines, *(one.lines for one in section.bullets))
    return used
