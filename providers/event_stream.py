"""Event streams of servers that stream although nobody asked for it: read as the one answer that they make up."""

from __future__ import annotations

import json
import re
from typing import Any

from providers.foreign_json import storable
from providers.stream_forms import form_of
from providers.transport import Answer

_BEGINNINGS = ("data:", "event:", ": ", ":\n", "id:", "retry:")
_LINE = re.compile(r"\r\n|\r|\n")  # and no other: JSON may hold U+2028 and the like within its texts
_DONE = re.compile(r"data: ?\[DONE\]\s*")


def is_stream(answer: Answer) -> bool:
    """Whether this is a stream, whatever its header says."""
    return answer.content_type == "text/event-stream" or answer.text[:200].lstrip().startswith(_BEGINNINGS)


def joined_stream(text: str) -> dict[str, Any]:
    """One answer out of an event stream nobody asked for. Cut off before its end: an answer cut by its length."""
    lines = _LINE.split(text)
    events = _events(lines)
    error = next((event for event in events if event.get("error")), None)
    joined: dict[str, Any] = storable(error or form_of(events)(events, any(map(_DONE.fullmatch, lines))))
    return joined


def joined_list(data: Any) -> Any:
    """The same for Google's other way to stream, a list of its events; anything else is handed back as it is."""
    if not isinstance(data, list) or not data or not all(isinstance(one, dict) for one in data):
        return data
    error = next((one for one in data if one.get("error")), None)
    return error or (form_of(data)(data, False) if "candidates" in data[0] else data)


def _events(lines: list[str]) -> list[dict[str, Any]]:
    found = []
    for line in lines:
        if not line.startswith("data:"):
            continue
        try:
            event = json.loads(line[5:])
        except (ValueError, RecursionError):
            continue  # the end mark, or a line that was cut off in the middle
        if isinstance(event, dict):
            found.append(event)
    return found
