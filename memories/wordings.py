"""Earlier wordings of one memory, read out of the newest revisions without unfolding whole states."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from datetime import datetime

from memories.models import Memory

MOST_REVISIONS = 60
MOST_BYTES = 3_000_000  # of compressed states; older wordings are in the history


@dataclass(frozen=True)
class Wording:
    """What the memory said up to and with revision `number`."""

    text: str
    number: int
    at: datetime


def earlier_wordings(memory: Memory) -> list[Wording]:
    """Wordings that differ from today's, newest first, each once."""
    rows = memory.block.file.revisions.order_by("-number").filter(created_at__gte=memory.created_at)
    found: dict[str, Wording] = {}
    read = 0
    for number, at, data in rows.values_list("number", "created_at", "state__data")[:MOST_REVISIONS].iterator():
        read += len(data)
        if read > MOST_BYTES:
            break
        text = _text_in(bytes(data), str(memory.pk))
        if text is not None and text != memory.text:
            found.setdefault(text, Wording(text, number, at))
    return list(found.values())


def _text_in(state: bytes, memory_id: str) -> str | None:
    """The text of one bullet in a packed state (memories/file_state.py); keys are sorted, so "text" follows "id"."""
    plain = zlib.decompress(state).decode("utf-8", "surrogatepass")
    at = plain.find(f'"id": "{memory_id}"')
    start = plain.find('"text": ', at) if at >= 0 else -1
    if start < 0:
        return None
    value, _end = json.JSONDecoder().raw_decode(plain, start + len('"text": '))
    return value if isinstance(value, str) else None
