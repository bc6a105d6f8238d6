"""Lorebooks and the memories that other extensions keep in lorebooks and in chats (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memories.formats_json import entry, outline, refuse_chat

# Where extensions keep their memories in the header of a chat (spec/peers).
IN_HEADER = (
    "summaryception",
    "openvault",
    "timeline_memory",
    "timelinememory",
    "starmem",
    "smart_memory",
    "smartMemory",
)
ON_MESSAGE = {"qvink_memory": "memory", "memory": ""}  # field of `extra`, and the field inside of it
TAGGED = re.compile(
    r"\[(?P<kind>fact|relationship|preference|event|scene|detail|revelation|development|arc|state|goal|secret)"
    r"(?P<rest>(?::[^\]\[]{0,300})?)\][ \t]+(?P<text>\S.*)",
    re.IGNORECASE,
)


def book_lines(entries: list[Mapping[str, Any]]) -> Iterator[str]:
    """The entries of a lorebook as an outline, in the order of the book."""
    for one in sorted(entries, key=_place):
        yield from entry(one)


def _place(one: Mapping[str, Any]) -> float:
    place = one.get("displayIndex", one.get("uid", one.get("id", 0)))
    return float(place) if isinstance(place, int | float) and not isinstance(place, bool) else 0.0


def lines_of_chat(values: list[Any]) -> Iterator[str]:
    """The memories that an extension keeps inside of a chat, without the chat. Raises Refused("chat") when none."""
    header = values[0].get("chat_metadata") if values and isinstance(values[0], dict) else None
    found = {name: header[name] for name in IN_HEADER if header.get(name)} if isinstance(header, dict) else {}
    summaries = list(_on_messages(values))
    if not found and not summaries:
        refuse_chat(values)
    for name, value in found.items():
        yield from ("", f"# {name}", *outline(value))
    if summaries:
        yield from ("", "# Summaries of messages", *summaries)


def _on_messages(values: list[Any]) -> Iterator[str]:
    for number, one in enumerate(values[1:]):
        extra = one.get("extra") if isinstance(one, dict) else None
        if not isinstance(extra, dict):
            continue
        for name, inner in ON_MESSAGE.items():
            value = extra.get(name)
            text = value.get(inner) if isinstance(value, dict) else value if not inner else None
            if isinstance(text, str) and text.strip():
                yield f"- {' '.join(text.split())} (message {number})"


def is_tagged(text: str) -> bool:
    """Whether most lines begin with a kind in brackets: `[fact:3:permanent:entity=Elara/character] …`."""
    lines = [line for line in text[:50_000].split("\n") if line.strip()]
    return len(lines) > 0 and sum(bool(TAGGED.match(line.strip("-* \t"))) for line in lines) > len(lines) / 2


def tagged_line(line: str) -> tuple[str, str]:
    """Label and text of such a line: the kind and whom it is about, and the fact. ("", line) for another line."""
    match = TAGGED.match(line.strip("-* \t"))
    if match is None:
        return "", line
    about = re.search(r"entity=([^:\]]+)", match["rest"])
    names = ", ".join(one.partition("/")[0].strip() for one in about[1].split(",")) if about else ""
    kind = match["kind"].lower()
    return f"{kind}: {names}" if names else kind, match["text"]
