"""A chat as a model reads it: which messages count, what is taken out of them, numbered lines, chunks.

Taking out is conservative: only what is surely markup or machinery goes, and the caller can show what went
(spec/charmemory §3.3–3.5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from providers.pairs import LONGEST_TAG, without_pairs

FENCE = re.compile(r"```[\s\S]*?```")
DETAILS = re.compile(rf"<(details)\b[^>]{{0,{LONGEST_TAG}}}>", re.IGNORECASE)
HIDDEN = re.compile(rf"<(script|style|think|thinking|template)\b[^>]{{0,{LONGEST_TAG}}}>", re.IGNORECASE)
COMMENT, COMMENT_END = re.compile("<!--"), re.compile("-->")
TAG = re.compile(r"</?([A-Za-z][\w:-]*)((?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>]+))?)*)\s*/?>")
TABLE_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
BLANK_LINES = re.compile(r"\n{3,}")
HTML_NAMES = frozenset(
    "a abbr acronym address article aside audio b big blockquote body br button canvas center cite code col dd del "
    "details dfn div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i "
    "iframe img input ins kbd label legend li link main mark meta nav ol option p picture pre q rp rt ruby s samp "
    "script section select small source span strike strong style sub summary sup svg table tbody td textarea tfoot "
    "th thead time title tr tt u ul var video wbr path g circle rect".split()
)
CUT = "\n[…]\n"
LONGEST = 100_000  # characters of one message that are looked at; a model would not be shown more anyway


@dataclass(frozen=True)
class Entry:
    """One message of a chat: `index` is SillyTavern's number, `role` user, character, system or unreadable, `avatar`
    the file of the card that spoke in a group."""

    index: int
    role: str
    name: str
    text: str
    identity: str = ""
    content: str = ""
    raw_date: str = ""
    is_hidden: bool = False
    avatar: str = ""


@dataclass(frozen=True)
class Stripped:
    """What is left of a text and, in order, what was taken out."""

    text: str
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One message as it stands in a prompt: its entry and its text without markup."""

    entry: Entry
    text: str

    @property
    def numbered(self) -> str:
        return f"#{self.entry.index} {self.entry.name}: {self.text}"


@dataclass(frozen=True)
class Chunk:
    """What one call reads: all entries of the stretch, and the lines that have something to say."""

    entries: tuple[Entry, ...]
    lines: tuple[Line, ...]

    @property
    def first_index(self) -> int:
        return self.entries[0].index

    @property
    def last_index(self) -> int:
        return self.entries[-1].index


def strip(text: str) -> Stripped:
    """Take out closed code fences, details, scripts, tables of at least two rows, and real tags (inner text stays).

    `<3`, `a < b > c`, `<Name>` spoken by somebody, a single fence mark and pipes in a sentence stay.
    """
    removed: list[str] = []

    def take(match: re.Match[str]) -> str:
        removed.append(match[0])
        return ""

    text = FENCE.sub(take, text)
    for opening in (DETAILS, HIDDEN):
        text = without_pairs(text, opening, _end_of, lambda whole, _inner: removed.append(whole))
    text = without_pairs(text, COMMENT, lambda _name: COMMENT_END, lambda whole, _inner: removed.append(whole))
    text = _without_tables(text, removed)
    closed = {match[1].lower() for match in TAG.finditer(text) if match[0].startswith("</")}

    def take_tag(match: re.Match[str]) -> str:
        name = match[1].lower()
        is_markup = name in HTML_NAMES or name in closed or "=" in match[2]
        return take(match) if is_markup else match[0]

    text = TAG.sub(take_tag, text)
    return Stripped(BLANK_LINES.sub("\n\n", text).strip(), tuple(removed))


def _end_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s{{0,99}}>", re.IGNORECASE)


def _without_tables(text: str, removed: list[str]) -> str:
    kept: list[str] = []
    run: list[str] = []

    def close() -> None:
        if len(run) > 1:
            removed.append("\n".join(run))
            kept.append("")
        else:
            kept.extend(run)
        run.clear()

    for line in text.split("\n"):
        if TABLE_ROW.fullmatch(line) and line.count("|") > 1:
            run.append(line)
            continue
        close()
        kept.append(line)
    close()
    return "\n".join(kept)


def counts(entry: Entry) -> bool:
    """Whether a message is shown to the model: it has a speaker's role, a name when hidden, and text.

    Hidden messages count: they were said. System notices without a name and unreadable lines do not (§3.3).
    """
    if not entry.text.strip() or entry.role == "unreadable":
        return False
    return entry.role in ("user", "character") or bool(entry.name)


def lines_of(entries: Iterable[Entry]) -> list[Line]:
    """The lines of the messages that count and are not empty after stripping."""
    lines = (Line(entry, strip(_cut(entry.text, LONGEST)).text) for entry in entries if counts(entry))
    return [line for line in lines if line.text]


def join_lines(lines: Iterable[Line]) -> str:
    """Numbered lines with a blank line between."""
    return "\n\n".join(line.numbered for line in lines)


def plain_lines(lines: Iterable[Line]) -> str:
    """`Name: text` without numbers."""
    return "\n\n".join(f"{line.entry.name}: {line.text}" for line in lines)


def next_chunk(
    entries: Sequence[Entry],
    unread: Iterable[int],
    *,
    max_messages: int,
    max_tokens: int,
    measure: Callable[[str], int],
) -> Chunk | None:
    """The first stretch of unread messages: no longer than `max_messages` that count and `max_tokens` of text.

    `unread` holds positions in `entries`. A stretch ends where read messages begin. One message alone may be longer
    than the budget: it is shortened in the middle. None when nothing is unread.
    """
    positions = sorted(unread)
    taken: list[Entry] = []
    lines: list[Line] = []
    used = 0
    for place, position in enumerate(positions):
        if place and position != positions[place - 1] + 1:
            break
        for line in lines_of([entries[position]]):
            cost = measure(line.numbered)
            if lines and (len(lines) >= max_messages or used + cost > max_tokens):
                return Chunk(tuple(taken), tuple(lines))
            lines.append(Line(line.entry, shorten(line.text, max_tokens, measure)))
            used += cost
        taken.append(entries[position])
    return Chunk(tuple(taken), tuple(lines)) if taken else None


def shorten(text: str, max_tokens: int, measure: Callable[[str], int]) -> str:
    """`text` within `max_tokens`: its middle is replaced by a mark when it is too long."""
    size = measure(text)
    if size <= max_tokens:
        return text
    return _cut(text, max(20, int(len(text) * max_tokens / size * 0.9)))


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit * 2 // 3].rstrip() + CUT + text[-(limit // 3) :].lstrip()


def truncate(text: str | None, limit: int) -> str | None:
    """`text` within `limit` characters, cut at the last line break when that lies in the second half (§3.6)."""
    if text is None or len(text) <= limit:
        return text
    head = text[:limit]
    at = head.rfind("\n")
    return (head[:at] if at > limit / 2 else head) + "\n[...truncated]"
