"""Tables of notes: comma, semicolon or tab separated (pure)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from memories.blocks import clean_bullet
from memories.formats_lines import DATE, date_in, has_words
from memories.formats_names import DATES, LABELS, TEXTS, best_name
from memories.formats_types import IMPORTED, Bullet, Leftover, OpenSection, Reading, closed

DELIMITERS = ",;\t|"
SAMPLE = 50  # rows that tell how a table is cut
MOST_BULLETS = 50
LONGEST_FIELD = 32 * 1024 * 1024


def looks_like_table(text: str) -> bool:
    """Whether the first rows have the same number of columns, and a head that names a text."""
    head = [line for line in text[:20_000].split("\n") if line.strip()][:6]
    if len(head) < 2:
        return False
    cut = delimiter_of(text)
    try:
        rows = list(csv.reader(head, delimiter=cut))
    except csv.Error:
        return False
    widths = {len(row) for row in rows}
    names = [name.strip().lower() for name in rows[0]] if rows else []
    return len(widths) == 1 and widths.pop() > 1 and any(name in TEXTS for name in names)


def delimiter_of(text: str) -> str:
    """The character that cuts the first rows most evenly."""
    rows = [line for line in text[:20_000].split("\n") if line.strip()][:SAMPLE]
    if not rows:
        return ","
    return max(DELIMITERS, key=lambda one: (min(row.count(one) for row in rows[:5]), rows[0].count(one)))


def read_table(text: str) -> Reading | None:
    """One memory for each row. A column of texts becomes the bullet, of labels and dates the block's; the others
    follow in brackets, each with its name. Without a known column every field is told with its name.
    None when it cannot be read as a table."""
    try:
        rows = list(_rows(text))
    except csv.Error:
        return None
    if not rows:
        return Reading("csv")
    (head_lines, head), *body = rows
    names = [clean_bullet(name) for name in head]
    lowered = [name.lower() for name in names]
    has_head = all(has_words(name) and len(name) <= 60 for name in names if name) and len(set(lowered)) == len(names)
    if not has_head or not body:
        names, body, head_lines = [], rows, ()
    places = _Places(lowered if names else [])
    cut = delimiter_of(text)
    sections: list[OpenSection] = []
    leftovers: list[Leftover] = []
    for lines, row in body:
        label, date, text_of = places.read(names, row)
        if not has_words(text_of):
            leftovers += [Leftover(line, clean_bullet(cut.join(row)), "no_words") for line in lines]
            continue
        last = sections[-1] if sections else None
        if last is None or (last.label, last.date) != (label, date) or len(last.bullets) >= MOST_BULLETS:
            sections.append(OpenSection(label, date))
        sections[-1].bullets.append(Bullet(clean_bullet(text_of), lines))
    return Reading("csv", closed(sections), tuple(leftovers), frozenset(head_lines))


class _Places:
    """Which columns mean what."""

    def __init__(self, names: Sequence[str]) -> None:
        self.text, self.label, self.date = (best_name(names, known) for known in (TEXTS, LABELS, DATES))

    def read(self, names: Sequence[str], row: Sequence[str]) -> tuple[str, str, str]:
        """Label, date and words of a row."""
        fields = [clean_bullet(field) for field in row]
        label = _at(fields, self.label)
        raw_date = _at(fields, self.date)
        date = date_in(raw_date)
        is_only_date = bool(date) and not any(char.isalpha() for char in DATE.sub("", raw_date).strip("TZ"))
        used = {self.text, self.label, self.date if is_only_date else None}
        others = [
            f"{names[place]}: {field}" if place < len(names) else field
            for place, field in enumerate(fields)
            if place not in used and has_words(field)
        ]
        text = _at(fields, self.text)
        if text and others:
            return label or IMPORTED, date, f"{text} ({'; '.join(others)})"
        return label or IMPORTED, date, text or "; ".join(others) or (label if not others else "")


def _at(fields: Sequence[str], place: int | None) -> str:
    return fields[place] if place is not None and place < len(fields) else ""


def _rows(text: str) -> Iterator[tuple[tuple[int, ...], list[str]]]:
    """Each row that is not blank with the lines that it stands on."""
    csv.field_size_limit(LONGEST_FIELD)
    source = text.split("\n")
    reader = csv.reader((line + "\n" for line in source), delimiter=delimiter_of(text))
    before = 0
    for row in reader:
        lines = tuple(range(before + 1, reader.line_num + 1))
        before = reader.line_num
        if any(source[number - 1].strip() for number in lines if number <= len(source)):
            yield tuple(number for number in lines if number <= len(source) and source[number - 1].strip()), row
