"""Reading what a model answered (spec/charmemory §3.8): only bullets that a person can check come out of it.

Kinds: "memories" (something was read), "nothing" (the model says there is nothing new), "refusal", "empty" (no text,
or nothing but reasoning), "unreadable" (an answer without a single bullet). Only the first two are a success.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from memories.blocks import clean_bullet, is_topic, split_multi_tag
from providers.pairs import LONGEST_TAG, without_pairs

THINK = r"(?:think|thinking|thought|reasoning|reflection)"
THINKING = re.compile(rf"<{THINK}\b[^>]{{0,{LONGEST_TAG}}}>", re.IGNORECASE)
END_OF_THINKING = re.compile(rf"</{THINK}\s{{0,99}}>", re.IGNORECASE)
ANSWER_START = re.compile(r"^[ \t]*(?:<memory\b|NO_NEW_MEMORIES\b)", re.IGNORECASE | re.MULTILINE)
FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
ESCAPED_TAG = re.compile(r"&lt;(/?memory\b[^<>&\n]{0,1000}(?:&(?![lg]t;)[^<>&\n]{0,1000}){0,20})&gt;", re.IGNORECASE)
TAG = re.compile(rf"<(/?)memor(?:y|ies)\b[^>]{{0,{LONGEST_TAG}}}>", re.IGNORECASE)
SENTINEL = re.compile(r"\bNO[ _-]NEW[ _-]MEMOR(?:Y|IES)\b", re.IGNORECASE)
DASH = re.compile(r"-[ \t]+(.*)")
BULLET = re.compile(r"(?:[-*•‣◦▪–—·]|\d{1,3}[.)])[ \t]+(.*)")
EMPHASIS = re.compile(r"(\*\*|__|\*|_|`)(.+)\1")
REFUSAL = re.compile(
    r"i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|i (?:can(?:no|['’])?t|won['’]?t|will not)\b"
    r"|i(?:['’]m| am) (?:unable|not able)|as an? (?:ai|language|large)\b"
    r"|es tut mir leid|ich kann (?:dabei|das|ihnen|dir) |lo siento|je suis désolé|desculpe",
    re.IGNORECASE,
)
SENTENCE_END = tuple(".!?…。！？\"”»’')]*_")


@dataclass(frozen=True)
class Answer:
    """`entries` hold bullets, one list per block to be made; `is_cut`: the end of the answer is missing."""

    kind: str
    entries: tuple[tuple[str, ...], ...] = ()
    is_cut: bool = False

    @property
    def bullets(self) -> int:
        """How many memories, topic tags not counted."""
        return sum(not is_topic(bullet) for entry in self.entries for bullet in entry)


def read_answer(text: str, *, is_truncated: bool = False, ignore: Collection[str] = ()) -> Answer:
    """Read an answer with every fallback; `ignore` holds bullets that are no memories (the prompt's own examples).

    A truncated answer loses its last bullet when that does not end like a sentence.
    """
    text = without_reasoning(text, is_truncated=is_truncated)
    if not text:
        return Answer("empty", is_cut=is_truncated)
    entries = _entries(text, BULLET, drop_last=is_truncated)
    entries = [[bullet for bullet in entry if is_memory(bullet, ignore)] for entry in entries]
    parts = [tuple(part) for entry in entries for part in split_multi_tag(_tag_first(entry)) if _has_memory(part)]
    if parts:
        return Answer("memories", tuple(parts), is_truncated)
    if SENTINEL.search(text):
        return Answer("nothing", is_cut=is_truncated)
    if REFUSAL.match(text.lstrip("*_\"'> \n")):
        return Answer("refusal", is_cut=is_truncated)
    return Answer("unreadable", is_cut=is_truncated)


def read_strictly(text: str) -> list[list[str]]:
    """The entries as SillyTavern's extension reads them: dash bullets only, the sentinel only when exact."""
    text = _without_closed_thinking(text).strip()
    if text in ("", "NO_NEW_MEMORIES"):
        return []
    entries = [bullets_of(segment, DASH) for segment in _segments(text)]
    return [part for entry in entries if entry for part in split_multi_tag(entry)]


def without_reasoning(text: str, *, is_truncated: bool = False) -> str:
    """The answer without what the model thought aloud, however its think tags are closed or not.

    After an opening tag that is never closed, only a finished answer (`<memory>` or the sentinel at the start of a
    line) counts; when the answer was cut off, everything after that tag was still thinking.
    """
    text = _without_closed_thinking(text)
    ends = list(END_OF_THINKING.finditer(text))
    text = text[ends[-1].end() :] if ends else text
    if match := THINKING.search(text):
        start = None if is_truncated else ANSWER_START.search(text, match.start())
        text = text[: match.start()] + (text[start.start() :] if start else "")
    return text.strip()


def _without_closed_thinking(text: str) -> str:
    return without_pairs(text, THINKING, lambda _name: END_OF_THINKING)


def arrange(entry: Collection[str], limit: int = 5) -> list[list[str]]:
    """One entry as blocks: its topic tag first, at most `limit` bullets each; more bullets open a block more."""
    tags = [bullet for bullet in entry if is_topic(bullet)][:1]
    rest = [bullet for bullet in entry if not is_topic(bullet)]
    return [[*tags, *rest[start : start + limit]] for start in range(0, len(rest), limit)]


def _entries(text: str, pattern: re.Pattern[str], *, drop_last: bool) -> list[list[str]]:
    text = ESCAPED_TAG.sub(r"<\1>", FENCE_LINE.sub("", text))
    entries = [bullets_of(segment, pattern) for segment in _segments(text)]
    if drop_last and not TAG.search(text.rstrip()[-12:]):
        last = next((entry for entry in reversed(entries) if entry), None)
        if last and not last[-1].endswith(SENTENCE_END):
            last.pop()
    return entries


def _segments(text: str) -> list[str]:
    """The stretches of text that may hold bullets: bodies of tags (also unclosed and nested ones), else the text after
    empty pairs, else all of it."""
    tags = list(TAG.finditer(text))
    if not tags:
        return [text] if not REFUSAL.match(text.lstrip()) else []
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    after = [(tag[1] == "", text[tag.end() : end]) for tag, end in zip(tags, ends, strict=True)]
    inside = [part for is_opening, part in after if is_opening]
    if any(bullets_of(part, BULLET) for part in inside):
        return inside
    outside = [part for is_opening, part in after if not is_opening]
    return outside if any(bullets_of(part, BULLET) for part in outside) else [TAG.sub("", text)]


def bullets_of(segment: str, pattern: re.Pattern[str]) -> list[str]:
    """Bullets of a stretch; an indented line, or one under a bullet without sentence end, continues that bullet."""
    bullets: list[str] = []
    is_open = False
    for raw in segment.split("\n"):
        line = raw.strip()
        match = pattern.fullmatch(line)
        if match:
            bullets.append(_plain(match[1]))
            is_open = True
        elif not line:
            is_open = False
        elif is_open and (raw[:1].isspace() or not bullets[-1].endswith(SENTENCE_END)) and not BULLET.fullmatch(line):
            bullets[-1] = clean_bullet(f"{bullets[-1]} {line}")
    return [bullet for bullet in bullets if bullet]


def _plain(text: str) -> str:
    """A bullet without emphasis around the whole of it."""
    text = clean_bullet(text)
    match = EMPHASIS.fullmatch(text)
    return clean_bullet(match[2]) if match and match[1] not in match[2] else text


def is_memory(bullet: str, ignore: Collection[str]) -> bool:
    bare = bullet.strip("*_`\"'()[]{}. !")
    if not bare or SENTINEL.fullmatch(bare) or REFUSAL.match(bare):
        return False
    return bullet not in ignore


def _has_memory(bullets: Collection[str]) -> bool:
    return any(not is_topic(bullet) for bullet in bullets)


def _tag_first(entry: list[str]) -> list[str]:
    """With a single topic tag somewhere in the entry, that tag opens it."""
    tags = [bullet for bullet in entry if is_topic(bullet)]
    return [tags[0], *(bullet for bullet in entry if bullet is not tags[0])] if len(tags) == 1 else entry
