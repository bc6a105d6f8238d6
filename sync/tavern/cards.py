"""Character cards: JSON inside a PNG, versions 1 to 3 (spec/sillytavern §4, limits of stack-notes §9.13).

An own chunk reader: the picture itself is never decoded here. A broken chunk costs only itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sync.tavern.problem import Problem
from sync.tavern.text import clean, plain, table, word, words
from sync.tavern.worlds import Entry, read_book

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_CHUNKS = 4096
MOST_BYTES = 16 * 1024 * 1024
TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
KEYWORDS = {b"ccv3": "ccv3", b"chara": "chara"}
LONGEST_TEXT = 1024 * 1024


class CardError(ValueError):
    """No card can be had from these bytes; the message is a sentence for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Card:
    """What is kept of a card. `content_hash` leaves out what SillyTavern rewrites by itself (chat, fav, dates)."""

    name: str
    description: str
    personality: str
    scenario: str
    first_message: str
    tags: list[str]
    spec: str
    bound_lorebook: str
    current_chat: str
    book_name: str
    book: list[Entry] | None
    content_hash: str
    problems: list[Problem] = field(default_factory=list)


def read_card(data: bytes) -> Card:
    """The card inside a PNG; `ccv3` is preferred, `chara` helps out. Raises CardError when there is none."""
    if not data.startswith(SIGNATURE):
        raise CardError("no-picture", "This is not a PNG picture.")
    problems: list[Problem] = []
    found: dict[str, bytes] = {}
    for keyword, value in _texts(data, problems):
        found.setdefault(keyword, value)
    for keyword in ("ccv3", "chara"):
        if keyword in found and (card := _card_json(found[keyword])) is not None:
            return _card(card, problems)
        if keyword in found:
            problems.append(_broken_chunk(keyword, other_left=keyword == "ccv3" and "chara" in found))
    if found:
        raise CardError("broken-card", "The card inside this picture is broken.")
    if problems:
        raise CardError(problems[0].code, problems[0].text)
    raise CardError("no-card", "There is no card inside this picture.")


def picture_hash(data: bytes) -> str:
    """64 hex digits of the picture itself, which stay the same while SillyTavern rewrites the card inside it."""
    digest = sha256()
    place = len(SIGNATURE)
    for _number in range(MOST_CHUNKS):
        length = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] not in TEXTS:
            digest.update(data[place : place + 12 + length])
        place += 12 + length
        if place >= len(data):
            break
    return digest.hexdigest()


def _texts(data: bytes, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    for kind, body in _chunks(data, problems):
        if kind not in TEXTS:
            continue
        keyword, _, rest = body.partition(b"\0")
        name = KEYWORDS.get(keyword.lower())
        if not name:
            continue
        value = _value(kind, rest)
        if value is None:
            problems.append(_broken_chunk(name, other_left=True))
        else:
            yield name, value


def _chunks(data: bytes, problems: list[Problem]) -> Iterator[tuple[bytes, bytes]]:
    place = len(SIGNATURE)
    for _number in range(MOST_CHUNKS):
        if place + 8 > len(data):
            problems.append(_cut_off())
            return
        length = int.from_bytes(data[place : place + 4], "big")
        kind = data[place + 4 : place + 8]
        if kind == b"IEND":
            return
        end = place + 8 + length
        if end > len(data):
            problems.append(_cut_off())
            return
        if kind in TEXTS and length <= MOST_BYTES:
            yield kind, data[place + 8 : end]
        place = end + 4


def _value(kind: bytes, rest: bytes) -> bytes | None:
    """The text of a chunk after its keyword, unpacked within limits."""
    if kind == b"tEXt":
        return rest
    if kind == b"zTXt":
        return _inflate(rest[1:]) if rest[:1] == b"\0" else None
    if len(rest) < 2:
        return None
    is_packed = rest[0] == 1
    _language, _, after = rest[2:].partition(b"\0")
    _translated, _, text = after.partition(b"\0")
    return _inflate(text) if is_packed else text


def _inflate(packed: bytes) -> bytes | None:
    unpacker = zlib.decompressobj()
    try:
        value = unpacker.decompress(packed, MOST_BYTES)
    except zlib.error:
        return None
    return value if unpacker.eof else None


def _card_json(value: bytes) -> dict[str, Any] | None:
    """The JSON behind base64; some tools wrote the JSON itself."""
    text = value.strip()
    if not text.startswith(b"{"):
        try:
            text = base64.b64decode(b"".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            return None
    try:
        card = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return card if isinstance(card, dict) and card else None


def _card(value: dict[str, Any], problems: list[Problem]) -> Card:
    data = table(value.get("data"))

    def pick(name: str, most: int = LONGEST_TEXT) -> str:
        return word(data.get(name), most) or word(value.get(name), most)

    extensions = table(data.get("extensions"))
    book = data.get("character_book")
    entries = read_book(book) if isinstance(book, dict) else None
    return Card(
        name=pick("name", 500).strip(),
        description=pick("description"),
        personality=pick("personality"),
        scenario=pick("scenario"),
        first_message=pick("first_mes"),
        tags=words(data.get("tags") or value.get("tags"), 200)[:200],
        spec=word(value.get("spec"), 40) or "chara_card_v1",
        bound_lorebook=word(extensions.get("world"), 300),
        current_chat=word(value.get("chat"), 500),
        book_name=word(table(book).get("name"), 300),
        book=entries,
        content_hash=_content_hash(value),
        problems=problems,
    )


def _content_hash(value: dict[str, Any]) -> str:
    card = {key: item for key, item in value.items() if key not in {"chat", "fav", "create_date"}}
    if isinstance(card.get("data"), dict):
        data = dict(card["data"])
        if isinstance(data.get("extensions"), dict):
            data["extensions"] = {key: item for key, item in data["extensions"].items() if key != "fav"}
        card["data"] = data
    try:
        text = json.dumps(plain(card, 100), sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(card)
    return sha256(clean(text).encode()).hexdigest()


def _broken_chunk(keyword: str, *, other_left: bool) -> Problem:
    kept = "The other copy of the card inside the picture was read." if other_left else "Nothing was read from it."
    return Problem("broken-chunk", f"The part “{keyword}” of this card is broken.", kept)


def _cut_off() -> Problem:
    return Problem("cut-off", "This picture is cut off before its end.", "The card inside it was read.")
