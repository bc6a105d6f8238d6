"""Reading a chat file line by line, in every form SillyTavern has written (spec/sillytavern §4). Never the whole file.

A line that cannot be read becomes a row of its own: numbered, empty and reported. Nothing is dropped.
"""

from __future__ import annotations

import codecs
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, Self

from sync.tavern.align import Key
from sync.tavern.dates import parse_date
from sync.tavern.identity import bytes_hash, content_hash
from sync.tavern.problem import Problem, Problems
from sync.tavern.text import clean, rows, table, whole, word

LONGEST_LINE = 8 * 1024 * 1024
LONGEST_HEADER = 64 * 1024 * 1024  # extensions keep what they note about every message in the first line
USER, CHARACTER, SYSTEM, UNREADABLE = "user", "character", "system", "unreadable"
MOST_SWIPES = 2**31 - 1
NO_OTHERS: frozenset[str] = frozenset()
_decode = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class ChatHeader:
    """What the first line says about the chat. `attachments` are the chat's own Data Bank entries, as found."""

    integrity: str = ""
    main_chat: str = ""
    lorebook: str = ""
    create_date: str = ""
    attachments: list[Any] = field(default_factory=list)
    charmemory: dict[str, Any] = field(default_factory=dict)  # what that extension noted, as found


@dataclass(slots=True)
class ChatLine:
    """One message. `text` is the chosen swipe; `offset` and `length` find its bytes again in the prepared file."""

    line: int
    index: int
    offset: int
    length: int
    role: str
    name: str
    text: str
    is_hidden: bool
    is_tagged: bool
    sender_avatar: str
    raw_date: str
    swipe: int | None
    swipe_count: int
    content: str
    sent_at: datetime | None = None
    swipes: list[Any] = field(default_factory=list)
    swipe_info: list[Any] = field(default_factory=list)

    def key(self) -> Key:
        """What telling messages apart needs, without the text."""
        return Key(self.role, self.raw_date, self.content, self._others() if len(self.swipes) > 1 else NO_OTHERS)

    def details(self) -> tuple[object, ...]:
        """Everything else that a stored row repeats, to see whether it must be written again."""
        return self.name, self.is_hidden, self.is_tagged, self.sender_avatar, self.swipe, self.swipe_count

    def _others(self) -> frozenset[str]:
        texts = {content_hash(text) for text in self.swipes if isinstance(text, str)}
        dates = {word(table(info).get("send_date"), 120) for info in self.swipe_info}
        return frozenset((texts | dates) - {self.content, self.raw_date, ""})


@dataclass(slots=True)
class _Raw:
    """One raw line; `data` is None when it was too long to be kept."""

    number: int
    offset: int
    length: int
    data: bytes | None
    is_whole: bool


class _Unreadable(ValueError):
    """Why a line is no message; `kept` stays the same for all."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class ChatReader:
    """A chat file being read; a context manager. `header`, `problems` and counts grow while `lines()` goes on."""

    def __init__(self, file: BinaryIO) -> None:
        self.problems = Problems()
        self.header = ChatHeader()
        self.has_header = False
        self.is_empty = False
        self.unreadable = 0
        self.count = 0
        self._given = file
        self.file = self._prepare(file)

    def lines(self) -> Iterator[ChatLine]:
        """Every message in file order."""
        is_first = True
        for raw in self._raw_lines():
            if is_first:
                is_first = False
                if self._take_header(raw):
                    continue
                raw.data = None if raw.length > LONGEST_LINE + 1 else raw.data
            line = self._message(raw)
            self.count += 1
            yield line
        self.is_empty = is_first
        if is_first:
            self.problems.add(Problem("empty", "This file is empty.", "What was read from it before is kept."))

    def again(self, line: int, index: int, offset: int, length: int) -> ChatLine:
        """Read one message once more from where it stood; no problem is reported twice."""
        self.file.seek(offset)
        data = self.file.read(length) if length <= LONGEST_LINE + 1 else None
        if data and not offset:
            data = data.removeprefix(codecs.BOM_UTF8)
        raw = _Raw(line, offset, length, data, True)
        problems, self.problems = self.problems, Problems()
        counts = self.count, self.unreadable
        try:
            self.count = index
            return self._message(raw)
        finally:
            self.problems, (self.count, self.unreadable) = problems, counts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the reader's own copy, if it made one; the file itself is the caller's."""
        if self.file is not self._given:
            self.file.close()

    def _prepare(self, file: BinaryIO) -> BinaryIO:
        """The same bytes, or a UTF-8 copy in a temporary file when an editor saved UTF-16."""
        start = file.read(4)
        file.seek(0)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self.problems.add(
                Problem(
                    "utf-16",
                    "This file was saved as UTF-16; SillyTavern itself cannot read it.",
                    "All its lines were read.",
                    1,
                )
            )
            return _as_utf8(file)
        return file

    def _raw_lines(self) -> Iterator[_Raw]:
        file, offset, number = self.file, 0, 0
        while data := file.readline((LONGEST_LINE if number else LONGEST_HEADER) + 1):
            number += 1
            length, kept = len(data), data
            is_whole = data.endswith(b"\n")
            if length > (LONGEST_LINE if number > 1 else LONGEST_HEADER) and not is_whole:
                rest = _skip_rest(file)
                length, is_whole = length + rest, True
                yield _Raw(number, offset, length, None, is_whole)
                offset += length
                continue
            if number == 1 and data.startswith(codecs.BOM_UTF8):
                kept = self._without_mark(data)
            if kept.strip():
                yield _Raw(number, offset, length, kept, is_whole)
            offset += length

    def _without_mark(self, data: bytes) -> bytes:
        self.problems.add(
            Problem(
                "bom",
                "This file begins with a byte order mark, which an editor left there.",
                "All its lines were read. SillyTavern may lose the first line: save the file without the mark.",
                1,
            )
        )
        return data[len(codecs.BOM_UTF8) :]

    def _take_header(self, raw: _Raw) -> bool:
        """True when the first line is a header: it has `chat_metadata`, or no `mes`."""
        if raw.data is None:
            return False
        try:
            value = _json(raw.data)
        except ValueError:
            if b'"chat_metadata"' not in raw.data and b'"user_name"' not in raw.data:
                return False
            self.problems.add(
                Problem("bad-header", "The first line, the header, cannot be read.", "All messages were read.", 1)
            )
            return True
        if not isinstance(value, dict) or ("chat_metadata" not in value and ("mes" in value or "swipes" in value)):
            return False
        self.header = _header(value)
        self.has_header = True
        return True

    def _message(self, raw: _Raw) -> ChatLine:
        try:
            return self._read(raw)
        except _Unreadable as error:
            self.unreadable += 1
            kept = "The line is counted and kept as it is; nothing is taken from it."
            self.problems.add(Problem(error.code, str(error), kept, raw.number))
            digest = bytes_hash(raw.data) if raw.data is not None else bytes_hash(b"%d" % raw.length)
            return ChatLine(
                raw.number, self.count, raw.offset, raw.length, UNREADABLE, "", "", False, False, "", f"line {digest}",
                None, 0, digest,
            )  # fmt: skip

    def _read(self, raw: _Raw) -> ChatLine:
        if raw.data is None:
            raise _Unreadable("long-line", f"This line is {_megabytes(raw.length)} long; more than 8 MiB is not read.")
        value = self._value(raw, raw.data)
        if not isinstance(value, dict):
            raise _Unreadable("no-message", "This line is not a message.")
        swipes, swipe = rows(value.get("swipes")), _swipe(value)
        text = _text(value, swipes, swipe)
        raw_date = value.get("send_date")
        date = raw_date[:120] if isinstance(raw_date, str) else word(raw_date, 120)
        sent_at = parse_date(raw_date)
        if date and sent_at is None:
            self.problems.add(
                Problem(
                    "bad-date",
                    "The date of this message cannot be read.",
                    "The message was read, its date is open.",
                    raw.number,
                )
            )
        text, name = clean(text), value.get("name")
        is_hidden = bool(value.get("is_system"))
        return ChatLine(
            raw.number,
            self.count,
            raw.offset,
            raw.length,
            _role(value, is_hidden),
            clean(name[:500]) if isinstance(name, str) else word(name, 500),
            text,
            is_hidden,
            table(value.get("extra")).get("charMemory_extracted") is True,
            word(value.get("original_avatar"), 300),
            clean(date),
            swipe,
            len(swipes),
            content_hash(text),
            sent_at,
            swipes,
            rows(value.get("swipe_info")),
        )

    def _value(self, raw: _Raw, data: bytes) -> Any:
        try:
            return _decode(data.decode())
        except UnicodeDecodeError:
            pass
        except (ValueError, RecursionError):
            if raw.is_whole:
                raise _Unreadable("bad-line", "This line is not valid JSON.") from None
            raise _Unreadable("cut-off", "The last line is cut off in the middle.") from None
        try:
            value = _json(data)
        except ValueError:
            raise _Unreadable("bad-line", "This line is not valid JSON.") from None
        self.problems.add(
            Problem(
                "bad-bytes", "This line holds bytes that are not UTF-8.", "It was read with those replaced.", raw.number
            )
        )
        return value


def read_chat(file: BinaryIO) -> ChatReader:
    """A reader over a seekable binary file; close it when done."""
    return ChatReader(file)


def read_header(file: BinaryIO) -> ChatHeader:
    """Only the first line; an empty header when there is none."""
    with ChatReader(file) as reader:
        next(reader.lines(), None)
        return reader.header


def _header(value: dict[str, Any]) -> ChatHeader:
    metadata = table(value.get("chat_metadata"))
    return ChatHeader(
        integrity=word(metadata.get("integrity"), 80),
        main_chat=word(metadata.get("main_chat"), 500),
        lorebook=word(metadata.get("world_info"), 300),
        create_date=word(value.get("create_date"), 120),
        attachments=rows(metadata.get("attachments")),
        charmemory=table(metadata.get("charMemory")),
    )


def _role(value: dict[str, Any], is_hidden: bool) -> str:
    """A notice of SillyTavern is hidden and has `extra.type` or no name; a hidden story message has a name, no type."""
    if is_hidden:
        kind = table(value.get("extra")).get("type")
        is_typed = isinstance(kind, str) and kind and kind != "narrator"
        if is_typed or not (value.get("is_user") or value.get("name")):
            return SYSTEM
    return USER if value.get("is_user") else CHARACTER


def _swipe(value: dict[str, Any]) -> int | None:
    chosen = value.get("swipe_id")
    return None if isinstance(chosen, bool) or not isinstance(chosen, int) else whole(chosen, 0, 0, MOST_SWIPES)


def _text(value: dict[str, Any], swipes: list[Any], swipe: int | None) -> str:
    text = value.get("mes")
    if isinstance(text, str) and (text or not swipes):
        return text
    if swipe is not None and swipe < len(swipes) and isinstance(swipes[swipe], str):
        return str(swipes[swipe])
    if "mes" not in value:
        raise _Unreadable("no-text", "This line has no field “mes”, so it is not a message of SillyTavern's.")
    return word(text, LONGEST_LINE)


def _json(data: bytes) -> Any:
    try:
        return _decode(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _skip_rest(file: BinaryIO) -> int:
    """Read on to the end of a line without keeping it; how many bytes that were."""
    count = 0
    while piece := file.readline(1024 * 1024):
        count += len(piece)
        if piece.endswith(b"\n"):
            break
    return count


def _as_utf8(file: BinaryIO) -> BinaryIO:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    copy = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as its reader
    while piece := file.read(1024 * 1024):
        copy.write(decoder.decode(piece).encode("utf-8", "replace"))
    copy.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
    copy.seek(0)
    return copy


def _megabytes(length: int) -> str:
    return f"{length / 1024 / 1024:.1f} MiB"
