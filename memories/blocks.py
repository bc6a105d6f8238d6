"""The memory file as text: blocks of bullets between <memory> tags, and whatever a person wrote around them.

Form and escaping are those of spec/charmemory §2.1, so that SillyTavern and its extensions go on reading the file.
Reading here loses nothing: text outside blocks, and blocks that cannot be read, stay as loose text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

OPENING = re.compile(r"<memory\b", re.IGNORECASE)
LONGEST_TAG = 4000  # characters of its attributes
NEXT_TAG = re.compile(r"<(?:(/)memory\s*>|memory\b)", re.IGNORECASE)
ATTRIBUTE = re.compile(r'\b(chat|date)\s*=\s*"([^"]*)"', re.IGNORECASE)
PREFIXED = re.compile(r"\[.*?\] - (.*)")
ANY_BULLET = re.compile(r"(?:[-*•‣◦▪–—]|\d{1,3}[.)])\s+(.*)")
TOPIC = re.compile(r"\[[^\[\]]+\s[—–-]\s[^\[\]]+\]")
# The look-behind keeps a long run of blanks from being tried again at each of them.
LINE_BREAKS = re.compile(r"(?:(?<![ \t])[ \t]+)?[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")
UNSAFE = re.compile(r"[\x00\ud800-\udfff]")
ODD = "\x00\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # what `clean_bullet` takes out, besides "\n" and lone surrogates
TAG_START = re.compile(r"<(?=\s*(?:/\s*)?memory\b)", re.IGNORECASE)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Block:
    """One <memory> block: label, local wall-clock date ("YYYY-MM-DD HH:MM" or ""), bullets without their dash."""

    chat: str
    date: str
    bullets: tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """How a file is laid out: "block", "bullet" or "custom" with its separator; `metadata` prefixes each bullet."""

    layout: str = "block"
    separator: str = "\n\n"
    metadata: bool = False

    @property
    def between_blocks(self) -> str:
        return self.separator if self.layout == "custom" else "\n\n"

    @property
    def prefixes(self) -> bool:
        return self.metadata and self.layout != "block"


@dataclass(frozen=True)
class Loose:
    """Text outside blocks, exactly as found: in front of block number `before`, or at the end (None)."""

    before: int | None
    text: str


@dataclass(frozen=True)
class Document:
    """A whole file: its blocks in order and the loose text around them."""

    blocks: tuple[Block, ...] = ()
    loose: tuple[Loose, ...] = field(default=())


BLOCK_FORMAT = Format()


@dataclass(frozen=True, slots=True)
class _Found:
    """A block in a text: where it stands, its attributes, what is between its tags.

    `is_plain`: the whole text holds nothing that `clean_bullet` would change, tags apart.
    """

    start: int
    end: int
    attributes: str
    body: str
    is_plain: bool


def escape_attr(text: str) -> str:
    """`text` for a double-quoted attribute."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_attr(text: str) -> str:
    """The reverse of `escape_attr`; the ampersand comes last, so nothing is decoded twice."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def timestamp(moment: datetime) -> str:
    """The wall-clock form of a block's date."""
    return moment.strftime("%Y-%m-%d %H:%M")


def clean_bullet(text: str) -> str:
    """`text` as one line that can stand in a file: no line breaks, no NUL, no tag of ours inside."""
    text = TAG_START.sub("‹", UNSAFE.sub("", LINE_BREAKS.sub(" ", text)))
    return text.strip()


def clean_label(text: str) -> str:
    """A block label on one line; an empty one becomes "unknown" (spec/charmemory §2.1)."""
    return clean_bullet(text)[:500].strip() or UNKNOWN


def clean_loose(text: str) -> str:
    """Loose text that every database can hold."""
    return UNSAFE.sub("", text)


def is_topic(bullet: str) -> bool:
    """Whether a bullet is wholly a topic tag: `[names — short description]`."""
    return TOPIC.fullmatch(bullet.strip()) is not None


def _find_blocks(text: str) -> Iterator[_Found]:
    """A block ends at its own closing tag: an unclosed opening tag in front of it never swallows it."""
    is_plain = not any(char in text for char in ODD) and UNSAFE.search(text) is None
    opening = _opening(text, 0)
    while opening is not None:
        start, inside, end = opening
        following = NEXT_TAG.search(text, end)
        if following is None:
            return
        if following[1]:
            yield _Found(start, following.end(), text[inside : end - 1], text[end : following.start()], is_plain)
            opening = _opening(text, following.end())
        else:
            opening = _opening(text, following.start())


def _opening(text: str, at: int) -> tuple[int, int, int] | None:
    """The next whole opening tag: where it starts, where its attributes do, and what stands behind it."""
    for found in OPENING.finditer(text, at):
        end = text.find(">", found.end(), found.end() + LONGEST_TAG + 1)
        if end >= 0:
            return found.start(), found.end(), end + 1
    return None


def block_spans(text: str) -> list[tuple[int, int]]:
    """Where the blocks of a file stand: (first character, behind the last)."""
    return [(found.start, found.end) for found in _find_blocks(text)]


def parse_memories(text: str | None) -> list[Block]:
    """The blocks as SillyTavern's extension reads them: dash bullets only, everything else ignored."""
    found = (_read_block(one, tolerant=False) for one in _find_blocks(text or ""))
    return [block for block in found if block.bullets]


def parse(text: str | None, form: Format = BLOCK_FORMAT, *earlier: Format) -> Document:
    """Read a file without losing anything: other bullet marks and wrapped lines count, the rest is loose text.

    Between blocks, blank space and the separator of `form` are layout and not loose text; so are those of `earlier`,
    layouts that some blocks of the file have kept.
    """
    text = text or ""
    blocks: list[Block] = []
    loose: list[Loose] = []
    start = 0
    for found in _find_blocks(text):
        block = _read_block(found, tolerant=True)
        if not block.bullets:
            continue
        gap = text[start : found.start]
        if not any(_is_layout(gap, one) for one in (form, *earlier)):
            loose.append(Loose(len(blocks), clean_loose(gap)))
        blocks.append(block)
        start = found.end
    if not _is_layout(text[start:], form):
        loose.append(Loose(None, clean_loose(text[start:])))
    return Document(tuple(blocks), tuple(loose))


def _is_layout(gap: str, form: Format) -> bool:
    return not gap.strip("\ufeff \t\r\n\x00") or gap.strip() == form.between_blocks.strip()


def _read_block(found: _Found, *, tolerant: bool) -> Block:
    attributes = {name.lower(): unescape_attr(value) for name, value in ATTRIBUTE.findall(found.attributes)}
    label = clean_label(attributes.get("chat", ""))
    date = clean_bullet(attributes.get("date", ""))[:40].strip()
    if found.is_plain and (bullets := _read_plain(found.body)) is not None:
        return Block(label, date, bullets)
    prefix = f"[{date} | {label}] - "
    read = _read_tolerant if tolerant else _read_strict
    return Block(label, date, tuple(read(found.body, prefix)))


def _read_plain(body: str) -> tuple[str, ...] | None:
    """The bullets of a block as we write it, line by line a dash: what most blocks are. None for any other."""
    if not body.startswith("\n- ") or not body.endswith("\n"):
        return None
    pieces = body[3:-1].split("\n- ")
    if body.count("\n") != len(pieces) + 1 or ("<" in body and TAG_START.search(body)):
        return None
    return tuple(bullet for piece in pieces if (bullet := piece.strip()))


def _dash_bullet(line: str, prefix: str) -> str | None:
    """The text of a line `- text` or `[metadata] - text`; None when it is neither."""
    if line.startswith(prefix):
        return line[len(prefix) :]
    if line.startswith("- ") or line == "-":
        return line[2:]
    match = PREFIXED.fullmatch(line)
    return match[1] if match else None


def _read_strict(body: str, prefix: str) -> list[str]:
    lines = (_dash_bullet(line.strip(), prefix) for line in body.split("\n"))
    return [bullet for line in lines if line is not None and (bullet := clean_bullet(line))]


def _read_tolerant(body: str, prefix: str) -> list[str]:
    """Bullets with any usual mark; a line right under a bullet continues it, a line on its own becomes one."""
    bullets: list[str] = []
    is_open = False
    for raw in body.split("\n"):
        line = raw.strip()
        if not line:
            is_open = False
            continue
        text = _dash_bullet(line, prefix)
        if text is None and (match := ANY_BULLET.fullmatch(line)):
            text = match[1]
        if text is None and is_open:
            bullets[-1] = clean_bullet(f"{bullets[-1]} {line}")
            continue
        if bullet := clean_bullet(line if text is None else text):
            bullets.append(bullet)
            is_open = True
    return bullets


def serialize_block(block: Block, form: Format = BLOCK_FORMAT) -> str:
    """One block as text."""
    lead = f"[{block.date} | {block.chat}] - " if form.prefixes else "- "
    joined = ("\n\n" if form.layout == "bullet" else "\n").join(lead + bullet for bullet in block.bullets)
    return f'<memory chat="{escape_attr(block.chat)}" date="{escape_attr(block.date)}">\n{joined}\n</memory>'


def serialize(document: Document, form: Format = BLOCK_FORMAT) -> str:
    """The whole file: loose text stands where it stood, the separator between all other blocks."""
    gaps: dict[int | None, str] = {}
    for loose in document.loose:
        gaps[loose.before] = gaps.get(loose.before, "") + loose.text
    parts: list[str] = []
    for number, block in enumerate(document.blocks):
        parts.append(gaps.get(number, form.between_blocks if number else ""))
        parts.append(serialize_block(block, form))
    parts.append(gaps.get(None, ""))
    return "".join(parts)


def serialize_memories(blocks: Iterable[Block], form: Format = BLOCK_FORMAT) -> str:
    """Blocks alone as a file."""
    return serialize(Document(tuple(blocks)), form)


def sniff_format(text: str) -> Format:
    """The layout of a file as found: its separator, blank lines between bullets, metadata prefixes."""
    matches = [one for one in _find_blocks(text) if _read_block(one, tolerant=True).bullets]
    lines = [line.strip() for one in matches for line in one.body.strip().split("\n")]
    written = [line for line in lines if line]
    metadata = bool(written) and all(PREFIXED.fullmatch(line) for line in written)
    gaps = {text[a.end : b.start] for a, b in pairwise(matches)}
    separator = next(iter(gaps)) if len(gaps) == 1 and len(matches) > 2 else ""
    if separator.strip() and len(separator) <= 80:
        return Format("custom", separator, metadata)
    if metadata or any(not line for line in lines):
        return Format("bullet", "\n\n", metadata)
    return BLOCK_FORMAT


def split_multi_tag(bullets: Sequence[str]) -> list[list[str]]:
    """Cut one entry at its topic tags; with fewer than two tags it stays whole (spec/charmemory §3.8)."""
    tags = [position for position, bullet in enumerate(bullets) if is_topic(bullet)]
    if len(tags) < 2:
        return [list(bullets)]
    edges = [0, *tags[1:], len(bullets)]
    return [list(bullets[start:end]) for start, end in pairwise(edges)]
