"""How SillyTavern's Vector Storage hashes texts and cuts Data Bank files into chunks (spec/sillytavern §6).

An index that is built outside must hold exactly the chunks that SillyTavern would have made, so lengths count UTF-16
units as JavaScript does: inside this module a text is a string with one character per unit (`_units`), and `_text`
turns it back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import regex

DELIMITERS = ("\n\n", "\n", " ", "")
_MASK = 0xFFFFFFFF
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRAILING_SPACE = re.compile(f"[{_SPACE}]+$")
_IS_SPACE = re.compile(f"[{_SPACE}]")
_SENTENCE_ENDS = frozenset('.!?*")}`]$。！？”）】’」_')
_EMOJI = regex.compile(r"[\p{Emoji_Presentation}\p{Extended_Pictographic}]")


@dataclass(frozen=True)
class Chunk:
    """One entry of a vector index: `hash` is the 53-bit hash of `text`, `index` its place in the file."""

    hash: int
    text: str
    index: int


@dataclass(frozen=True)
class ChunkSettings:
    """Vector Storage's settings for Data Bank files. `threshold_kb` is in KiB, sizes are UTF-16 units."""

    threshold_kb: int = 5
    chunk_size: int = 2500
    overlap_percent: int = 0
    force_delimiter: str = ""
    only_custom_boundary: bool = False

    def size_for(self, registered_bytes: int) -> int:
        """Chunk size for a file registered with this size; -1 means the whole file is one chunk."""
        return self.chunk_size if registered_bytes > self.threshold_kb * 1024 else -1


def string_hash(text: str) -> int:
    """SillyTavern's string hash: 53 bits over UTF-16 units (cyrb53 with seed 0)."""
    first, second = 0xDEADBEEF, 0x41C6CE57
    for unit in map(ord, _units(text)):
        first = ((first ^ unit) * 2654435761) & _MASK
        second = ((second ^ unit) * 1597334677) & _MASK
    first = _mix(first, second)
    second = _mix(second, first)  # with the new `first`, as the original does
    return 4294967296 * (second & 0x1FFFFF) + first


def _mix(one: int, other: int) -> int:
    return (((one ^ (one >> 16)) * 2246822507) & _MASK) ^ (((other ^ (other >> 13)) * 3266489909) & _MASK)


def collection_of(url: str) -> str:
    """Name of the vector collection of a Data Bank file, from its address exactly as registered."""
    return f"file_{string_hash(url)}"


def file_chunks(text: str, registered_bytes: int, settings: ChunkSettings) -> list[Chunk]:
    """The chunks of a Data Bank file. The registered size decides, not the real one (spec/sillytavern §0.9)."""
    pieces = split_text(text, settings.size_for(registered_bytes), settings)
    return [Chunk(string_hash(piece), piece, number) for number, piece in enumerate(pieces)]


def split_text(text: str, size: int, settings: ChunkSettings) -> list[str]:
    """`text` cut into pieces of at most `size` units (-1: uncut), with overlap and boundary as in `settings`."""
    overlap = math.floor(size * settings.overlap_percent / 100 + 0.5)
    units, boundary = _units(text), _units(settings.force_delimiter)
    if boundary and settings.only_custom_boundary:
        pieces = units.split(boundary)
    else:
        delimiters = [boundary, *DELIMITERS] if boundary else list(DELIMITERS)
        pieces = _split(units, size - max(overlap, 0), delimiters)
    if overlap > 0:
        pieces = _overlapping(pieces, overlap // 2)
    return [_text(piece) for piece in pieces]


def _units(text: str) -> str:
    """One character per UTF-16 unit."""
    return _ASTRAL.sub(_surrogates, text)


def _surrogates(match: re.Match[str]) -> str:
    code = ord(match[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def _text(units: str) -> str:
    """Ordinary text again; halves of a pair that were cut apart stay lone surrogates."""
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _split(units: str, size: int, delimiters: Sequence[str]) -> list[str]:
    """Cut at the first delimiter, what is still too long at the next ones, then join greedily up to `size`."""
    if size <= 0:
        return [units]
    delimiter = delimiters[0] if delimiters else ""
    pieces: list[str] = []
    for part in units.split(delimiter) if delimiter else list(units):
        # A single unit cannot be cut further; the original would recurse for ever at size 1.
        if len(part) < size or (not delimiter and len(part) == 1):
            pieces.append(part)
        else:
            pieces.extend(_split(part, size, delimiters[1:]))
    return _joined(pieces, size, delimiter)


def _joined(pieces: list[str], size: int, delimiter: str) -> list[str]:
    joined: list[str] = []
    for piece in pieces:
        if joined and len(joined[-1]) + len(piece) + len(delimiter) <= size:
            joined[-1] += delimiter + piece
        else:
            joined.append(piece)
    return joined


def _overlapping(pieces: list[str], half: int) -> list[str]:
    """Each piece with the end of the one before and the start of the one after, cut at sentences."""
    widened = []
    for number, piece in enumerate(pieces):
        before = _from_sentence_start(pieces[number - 1][-half:] if half else "") if number else ""
        after = _to_sentence_end(pieces[number + 1][:half]) if number + 1 < len(pieces) else ""
        widened.append(" ".join(part for part in (before, piece, after) if part))
    return widened


def _to_sentence_end(units: str) -> str:
    """Cut back to the last sentence mark or emoji; without one only white space at the end goes."""
    characters = list(_text(units))
    for place in range(len(characters) - 1, -1, -1):
        is_emoji = _EMOJI.match(characters[place]) is not None
        if is_emoji or characters[place] in _SENTENCE_ENDS:
            if not is_emoji and place and _IS_SPACE.match(characters[place - 1]):
                place -= 1
            characters = characters[: place + 1]
            break
    return _TRAILING_SPACE.sub("", _units("".join(characters)))


def _from_sentence_start(units: str) -> str:
    """Cut forward past the first sentence. Other marks count only when a full stop stands further on."""
    first, skip = units.find("."), 2
    for mark, width in (("!", 2), ("?", 2), ("\n", 1)):
        place = units.find(mark)
        if 0 < place < first:
            first, skip = place, width
    return units[first + skip :] if first > 0 else units
