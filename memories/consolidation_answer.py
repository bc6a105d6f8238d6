"""Reading what a model made of memories (pure): blocks, what each bullet was made from, what was left out and why.

Reading is tolerant: any bullet mark, any quotes round a label, ids in ranges or without their "b", whole blocks, ids in
front instead of behind, lists without tags. What the ids say is only a claim: memories/conservation.py checks it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from memories.answer import (
    BULLET,
    ESCAPED_TAG,
    FENCE_LINE,
    REFUSAL,
    SENTENCE_END,
    bullets_of,
    is_memory,
    without_reasoning,
)
from memories.blocks import clean_bullet, is_topic, split_multi_tag

WIDE = re.compile(r"[ \t]{9,}")
VALUE = r"\"[^\"\n]{0,600}\"|“[^”\n]{0,600}”|'[^'\n]{0,600}'(?=[\s>/])|[^\s>\"“']+"
TAG = re.compile(rf"<(/?)memor(?:y|ies)\b((?:\s+[\w-]+\s*=\s*(?:{VALUE}))*\s*/?|[^>\n]{{0,1000}})>", re.IGNORECASE)
LABEL = re.compile(
    r"\b(?:chat|label|theme|title)\s*=\s*(?:\"([^\"]*)\"|[“„]([^”“]*)[”“]|'(.*?)'(?=\s*(?:[\w-]+\s*=|/?$))|([^\s\"'“]+))",
    re.IGNORECASE,
)
DROPPED = re.compile(r"<dropped\b[^>\n]{0,200}>([\s\S]*?)(?:</dropped\s*>|(?=<memory\b)|\Z)", re.IGNORECASE)
DROPPED_HEADING = re.compile(
    r"^[\s#*_]*(?:dropped|left out|omitted|removed)(?: memories)?[\s*_]*:?[\s*_]*$", re.IGNORECASE | re.MULTILINE
)
REF = r"[bB#]?\d{1,5}(?:\.\d{1,5})?"
GAP = r"[ \t]{0,3}"
LIST = rf"{REF}(?:{GAP}(?:,|;|/|&|\band\b|\bund\b|\bto\b|\bbis\b|[-–—…]|[ \t]){GAP}{REF}){{0,500}}"
WORDED = r"(?:made |merged |combined |taken )?(?:from|sources?|ids?|of|aus)\b\s*[:=]?\s*"
CLAIM = re.compile(rf"[(\[{{<]\s*({WORDED})?({LIST})?\s*[)\]}}>]?[.!]?[*_]*\s*$", re.IGNORECASE)
BARE_CLAIM = re.compile(rf"(?:[ \t][—–-]{{1,3}})?[ \t]\b(?:from|sources?)\s*:\s*({LIST})\s*\.?$", re.IGNORECASE)
CLAIM_LINE = re.compile(rf"\n[ \t]*(?:[-*•][ \t]+)?(?=[(\[]\s*{WORDED}{REF})", re.IGNORECASE)
LEADING = re.compile(r"[\[(]?\s*(b\d{1,5}\.\d{1,5})\s*[\])]?\s*[:.)–—-]?\s+", re.IGNORECASE)
LEFT_OUT = re.compile(rf"[\[(]?\s*({LIST})\s*[\])]?\s*(?:[:=–—-]|\s)\s*(.*)", re.IGNORECASE)
RANGE = re.compile(rf"({REF})(\s*(?:[-–—…]|\bto\b|\bbis\b)\s*)?")


@dataclass(frozen=True)
class MadeBullet:
    """A bullet of the answer and the ids that it says it was made from, as far as they exist."""

    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True)
class MadeBlock:
    """A block of the answer. `topic` is its tag with brackets, or ""."""

    label: str
    topic: str
    bullets: tuple[MadeBullet, ...]


@dataclass(frozen=True)
class Made:
    """Kinds: "memories", "empty", "refusal", "unreadable". `dropped` gives the reason for each id left out on purpose;
    `is_cut`: the end of the answer is missing."""

    kind: str
    blocks: tuple[MadeBlock, ...] = ()
    dropped: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False


def read(text: str, ids: Sequence[str], *, is_truncated: bool = False, ignore: Collection[str] = ()) -> Made:
    """Read an answer about the memories `ids` ("b1.1", …, in order); `ignore` holds the prompt's own examples."""
    text = without_reasoning(WIDE.sub(" " * 8, text), is_truncated=is_truncated)
    if not text:
        return Made("empty", is_cut=is_truncated)
    text = ESCAPED_TAG.sub(r"<\1>", FENCE_LINE.sub("", text))
    is_cut = is_truncated or _is_unfinished(text)
    known = Ids(ids)
    text, dropped = _take_dropped(text, known)
    blocks = tuple(_blocks(CLAIM_LINE.sub(" ", text), known, ignore))
    if blocks or dropped:
        return Made("memories", blocks, dropped, is_cut)
    if REFUSAL.match(text.lstrip("*_\"'> \n")):
        return Made("refusal", is_cut=is_cut)
    return Made("unreadable", is_cut=is_cut)


class Ids:
    """The ids of one call, found again however a model writes them."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.places = {one: place for place, one in enumerate(ids)}
        self.ids = list(ids)
        self.blocks: dict[str, list[str]] = {}
        for one in ids:
            self.blocks.setdefault(one.partition(".")[0], []).append(one)

    def all_in(self, text: str) -> list[str]:
        """Every known id that a list like "b1.2, 3.1-3.4 and b7" names, each once, in order of naming."""
        found: list[str] = []
        start = ""
        for part in RANGE.finditer(text):
            if start:
                found += self._between(start, part[1])
            elif not part[2]:
                found += self._named(part[1])
            start = part[1] if part[2] else ""
        return list(dict.fromkeys([*found, *self._named(start)]))

    def _named(self, ref: str) -> list[str]:
        name = "b" + ref.lower().lstrip("b#")
        return [name] if name in self.places else self.blocks.get(name, [])

    def _between(self, first: str, last: str) -> list[str]:
        start = self._named(first)
        if start and "." in first and last.isdigit():  # "b3.2-4" stays inside its block
            last = f"{start[0].partition('.')[0]}.{last}"
        end = self._named(last)
        if not start or not end or self.places[start[0]] > self.places[end[-1]]:
            return [*start, *end]
        return self.ids[self.places[start[0]] : self.places[end[-1]] + 1]


def _is_unfinished(text: str) -> bool:
    """Whether an answer stops in the middle of a block, although the server did not say so."""
    tags = list(TAG.finditer(text))
    if not tags or tags[-1][1] or DROPPED.search(text, tags[-1].end()):
        return False
    return not text.rstrip().endswith(SENTENCE_END)


def _take_dropped(text: str, known: Ids) -> tuple[str, dict[str, str]]:
    """The text without its lists of what was left out, and these."""
    dropped: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        dropped.update(_reasons(match[1], known))
        return "\n"

    text = DROPPED.sub(take, text)
    heading = DROPPED_HEADING.search(text)
    if heading and not TAG.search(text, heading.end()):
        dropped |= _reasons(text[heading.end() :], known)
        text = text[: heading.start()]
    return text, dropped


def _reasons(body: str, known: Ids) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw in body.split("\n"):
        line = raw.strip()
        mark = BULLET.fullmatch(line)
        match = LEFT_OUT.fullmatch(mark[1] if mark else line)
        if match is None:
            continue
        for one in known.all_in(match[1]):
            found[one] = clean_bullet(match[2]).strip("\"“”'() ")[:300]
    return found


def _blocks(text: str, known: Ids, ignore: Collection[str]) -> Iterator[MadeBlock]:
    """Blocks inside tags; bullets outside of them count when there is no tag, or when they name their sources."""
    tags = list(TAG.finditer(text))
    if not any(not tag[1] for tag in tags):
        if not REFUSAL.match(text.lstrip()):
            yield from _block("", TAG.sub("", text), known, ignore)
        return
    yield from _outside(text[: tags[0].start()], known, ignore)
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    for tag, end in zip(tags, ends, strict=True):
        body = text[tag.end() : end]
        if tag[1]:
            yield from _outside(body, known, ignore)
        else:
            yield from _block(_label(tag[2]), body, known, ignore)


def _outside(text: str, known: Ids, ignore: Collection[str]) -> Iterator[MadeBlock]:
    for block in _block("", text, known, ignore):
        if claimed := tuple(one for one in block.bullets if one.refs):
            yield MadeBlock(block.label, block.topic, claimed)


def _block(label: str, body: str, known: Ids, ignore: Collection[str]) -> Iterator[MadeBlock]:
    """One block, cut at its topic tags when it has several."""
    made = [_bullet(text, known) for text in bullets_of(body, BULLET)]
    made = [one for one in made if one.text and is_memory(one.text, ignore)]
    at = 0
    for part in split_multi_tag([one.text for one in made]):
        bullets = made[at : at + len(part)]
        at += len(part)
        topic = next((one.text for one in bullets if is_topic(one.text)), "")
        facts = tuple(one for one in bullets if not is_topic(one.text))
        if facts:
            yield MadeBlock(label, topic, facts)


def _bullet(text: str, known: Ids) -> MadeBullet:
    refs: list[str] = []
    while match := LEADING.match(text):
        refs += known.all_in(match[1])
        text = text[match.end() :]
    text, claimed = _without_claim(text, known)
    return MadeBullet(clean_bullet(text), tuple(dict.fromkeys([*refs, *claimed])))


def _without_claim(text: str, known: Ids) -> tuple[str, list[str]]:
    """The bullet without the list of ids behind it. Brackets that hold something else stay where they are."""
    match = CLAIM.search(text)
    if match and (match[1] or match[2]):
        refs = known.all_in(match[2] or "")
        if (match[1] and match[2]) or (refs and _all_refs(match[2], known)):
            return text[: match.start()].rstrip(), refs
    bare = BARE_CLAIM.search(text)
    if bare and known.all_in(bare[1]):
        return text[: bare.start()].rstrip(), known.all_in(bare[1])
    return text, []


def _all_refs(text: str, known: Ids) -> bool:
    """Whether a bracket without a word like "from" holds nothing but ids of this call."""
    return all(known.all_in(part[1]) for part in RANGE.finditer(text)) and ("b" in text.lower() or "." in text)


def _label(attributes: str) -> str:
    match = LABEL.search(attributes)
    text = next((one for one in match.groups() if one is not None), "") if match else ""
    return clean_bullet(html.unescape(text))[:200]
