"""A file's bytes as text: which encoding it has, and whether it is text at all (pure)."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from memories.formats_types import Refused

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LINE_ENDS = re.compile(r"\r\n?")
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
LOOKED_AT = 8192  # bytes that tell text from something else
MOST_CONTROLS = 0.02


@dataclass(frozen=True)
class Decoded:
    """Text with "\\n" as the only line end; `warnings` are codes."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded:
    """UTF-8 and UTF-16 with or without a mark in front; anything else that is text is taken for Western European,
    with a warning. Raises Refused("binary") for what is no text."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    if encoding := _unmarked_utf16(data):
        return _decoded(data, encoding)
    head = data[:LOOKED_AT]
    if len(NOT_TEXT.findall(head)) > MOST_CONTROLS * len(head):
        raise Refused("binary")
    try:
        return Decoded(normal(data.decode("utf-8")), "utf-8")
    except UnicodeDecodeError:
        pass
    encoding = "cp1252" if not any(byte in data for byte in b"\x81\x8d\x8f\x90\x9d") else "latin-1"
    return Decoded(normal(data.decode(encoding)), encoding, ("guessed_encoding",))


def normal(text: str) -> str:
    """`text` with one kind of line end, without a mark in front and without characters that no database holds."""
    text = LINE_ENDS.sub("\n", text.removeprefix("\ufeff"))
    return text.replace("\x00", "") if "\x00" in text else text


def _decoded(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    return Decoded(normal(text), encoding, ("broken_encoding",) if "\ufffd" in text else ())


def _unmarked_utf16(data: bytes) -> str:
    """Which UTF-16 this is, told by the zero bytes of its Latin letters; "" when it is none."""
    head = data[: LOOKED_AT & ~1]
    if len(head) < 8:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    few, many = 0.05 * len(head), 0.2 * len(head)
    if odd > many and even < few:
        return "utf-16-le"
    return "utf-16-be" if even > many and odd < few else ""
