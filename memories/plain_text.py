"""A chat message as plain lines: without HTML, code, pictures and the marks of markdown (pure)."""

from __future__ import annotations

import html
import re

from memories.markup import MAX_CHARACTERS, chat_html
from memories.transcript import strip

# Bounded, so that a message of nothing but brackets is read in a time that grows with its length only.
PICTURE = re.compile(r"!\[[^\[\]\n]*\]\([^)\n]{0,1000}\)")
LINK = re.compile(r"\[([^\[\]\n]+)\]\([^)\s]{1,1000}(?:\s{1,9}\"[^\"\n]{0,400}\")?\)")
HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)
LINE_ENDS = re.compile(r"<br ?/?>|<hr ?/?>|</(?:p|li|blockquote|pre)>")
ANY_TAG = re.compile(r"<[^>]*>")
MARK = re.compile(r"^[-*•][ \t]+")


def plain_text(text: str) -> str:
    """The words of a message, one line for each of its lines."""
    text = HEADING.sub("", LINK.sub(r"\1", PICTURE.sub("", strip(text[:MAX_CHARACTERS]).text)))
    shown = LINE_ENDS.sub("\n", chat_html(text).replace("\n", ""))
    lines = (" ".join(line.split()) for line in html.unescape(ANY_TAG.sub("", shown)).split("\n"))
    return "\n".join(line for line in lines if line)


def bullets_of(text: str) -> list[str]:
    """The lines of a text as bullets, without the dash in front and without empty ones."""
    lines = (MARK.sub("", line.strip()).strip() for line in text.splitlines())
    return [line for line in lines if line and line not in "-*•"]


def first_words(text: str, count: int = 6) -> str:
    """How a text begins, as its handle is named: "She keeps the lantern in the …"."""
    words = text.split(maxsplit=count)
    return " ".join(words[:count]) + (" …" if len(words) > count else "")
