"""Finding and replacing words in memories and labels: plain text, whole words or patterns (pure).

Where SillyTavern's extension counts and replaces, so does this: bullets and labels, without regard to case unless asked
(spec/charmemory §8.6). In a plain replacement every character stands for itself; patterns may refer to their groups
(`\\1`, `\\g<name>`). One search has one second of matching for all texts together, however the pattern is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import regex

from memories.word_diff import Piece, word_diff

SECONDS = 1.0
MAX_FIND = 500
MAX_REPLACE = 2_000
MAX_RESULT = 20_000  # letters of one memory; only a replacement that multiplies text gets there
# Counted repeats are unrolled when a pattern is prepared, which no time limit ends: nested ones would fill the memory.
MAX_REPEATS = 10_000
# A pattern that calls itself can fill the memory before its time is over.
CALLS_ITSELF = regex.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
COUNTED = regex.compile(r"\{\s*([0-9]*)\s*(?:,\s*([0-9]*)\s*)?\}")


class Refused(ValueError):
    """This search cannot be carried out and nothing was changed.

    `reason` is one of too-long, bad-pattern, bad-replacement, too-slow, too-many, calls-itself, empty, grows
    (memories/replacing.py has the sentences); `detail` is what the regex package says.
    """

    def __init__(self, reason: str, detail: object = "") -> None:
        super().__init__(f"{reason} {detail}".strip())
        self.reason, self.detail = reason, str(detail)


@dataclass(frozen=True)
class Options:
    """What to find and what to put in its place."""

    find: str
    replace: str = ""
    is_case_sensitive: bool = False
    is_whole_words: bool = False
    is_pattern: bool = False


@dataclass(frozen=True)
class Place:
    """One match: text[start:end] becomes `put`."""

    start: int
    end: int
    put: str


class Search:
    """A compiled search with its time budget, which all texts share. Every method raises Refused."""

    def __init__(self, options: Options, seconds: float = SECONDS) -> None:
        if len(options.find) > MAX_FIND or len(options.replace) > MAX_REPLACE:
            raise Refused("too-long")
        self.options = options
        self._left = seconds
        self._pattern = _compiled(options) if options.find else None

    def places(self, text: str) -> list[Place]:
        """Where `text` has what is looked for, from left to right; nothing for an empty search."""
        if self._pattern is None:
            return []
        if self._left <= 0:
            raise Refused("too-slow")
        begin = time.perf_counter()
        try:
            return self._found(self._pattern, text)
        except (TimeoutError, MemoryError):
            raise Refused("too-slow") from None
        except (regex.error, IndexError, KeyError, ValueError) as error:
            if isinstance(error, Refused):
                raise
            raise Refused("bad-replacement", error) from None
        finally:
            self._left -= time.perf_counter() - begin

    def _found(self, pattern: Any, text: str) -> list[Place]:
        put, found, length = self.options.replace, [], len(text)
        # Only a pattern can explode; while it does, other threads go on.
        limits = {"timeout": max(self._left, 0.001), "concurrent": True} if self.options.is_pattern else {}
        for match in pattern.finditer(text, **limits):
            if match.end() == match.start():
                raise Refused("empty")
            words = match.expand(put) if self.options.is_pattern else put
            length += len(words) - (match.end() - match.start())
            if length > max(MAX_RESULT, len(text)):
                raise Refused("grows")
            found.append(Place(match.start(), match.end(), words))
        return found


def replaced(text: str, places: Sequence[Place]) -> str:
    """`text` with all places replaced, as it comes out: not yet cleaned for a file."""
    parts, at = [], 0
    for place in places:
        parts += [text[at : place.start], place.put]
        at = place.end
    return "".join([*parts, text[at:]])


def marked(text: str, places: Sequence[Place]) -> list[Piece]:
    """`text` in pieces, with what was found marked as "found"."""
    pieces, at = [], 0
    for place in places:
        pieces += [Piece("same", text[at : place.start]), Piece("found", text[place.start : place.end])]
        at = place.end
    return [piece for piece in (*pieces, Piece("same", text[at:])) if piece.text]


def pieces_of(before: str, after: str, places: Sequence[Place]) -> tuple[list[Piece], list[Piece]]:
    """Both wordings cut at the places. Joined they are `before` and `after`, whatever cleaning did to the latter."""
    if not after:
        return [Piece("del", before)], []
    if replaced(before, places) != after:
        return word_diff(before, after)
    old, new, at = [], [], 0
    for place in places:
        same = Piece("same", before[at : place.start])
        old += [same, Piece("del", before[place.start : place.end])]
        new += [same, Piece("ins", place.put)]
        at = place.end
    rest = Piece("same", before[at:])
    return [one for one in (*old, rest) if one.text], [one for one in (*new, rest) if one.text]


def _compiled(options: Options) -> Any:
    if options.is_pattern:
        _check_size(options.find)
    find = options.find if options.is_pattern else regex.escape(options.find, special_only=True, literal_spaces=True)
    flags = regex.V0 if options.is_case_sensitive else regex.V0 | regex.IGNORECASE
    try:
        pattern = regex.compile(find, flags)
        if not options.is_whole_words:
            return pattern
        before, after = _edges(options)
        return regex.compile(f"{before}(?:{find}){after}", flags)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError, LookupError, TypeError) as error:
        raise Refused("bad-pattern", error) from None


def _check_size(pattern: str) -> None:
    if CALLS_ITSELF.search(pattern):
        raise Refused("calls-itself")
    if _repeats(pattern) > MAX_REPEATS:
        raise Refused("too-many")


def _repeats(pattern: str) -> int:
    """How often the innermost part of a pattern could be repeated at most, if all counted repeats were nested."""
    counts = (int(number[:9]) for pair in COUNTED.findall(pattern) for number in pair if number)
    return math.prod(max(1, count) for count in counts)


def _edges(options: Options) -> tuple[str, str]:
    """What must not stand beside a whole word; beside a sign such as $ anything may stand."""
    is_word = [bool(regex.match(r"\w", end)) or options.is_pattern for end in (options.find[0], options.find[-1])]
    return r"(?<!\w)" * is_word[0], r"(?!\w)" * is_word[1]
