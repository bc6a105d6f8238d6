"""Earlier wordings of one memory, read out of the newest revisions without unfolding whole states."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime

from memories import revisions
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
    """Wordings that differ from today's, newest first, each once; those it had while it stood in its present block."""
    file = memory.block.file
    rows = file.revisions.order_by("-number").filter(created_at__gte=memory.created_at)
    place = re.compile(rf'\["{memory.block_id}",(\d+)\]')
    seen: list[tuple[int, datetime, int | str | None]] = []
    read = 0
    for number, at, data in rows.values_list("number", "created_at", "state__data")[:MOST_REVISIONS].iterator():
        read += len(data)
        if read > MOST_BYTES:
            break
        plain = revisions.unpack(data)
        found = place.search(plain)
        seen.append((number, at, int(found[1]) if found else _text_in(plain, str(memory.pk))))
    blocks = revisions.read_blocks(file, [one for _number, _at, one in seen if isinstance(one, int)])
    said = {pk: m["text"] for pk, block in blocks.items() for m in block["memories"] if m["id"] == str(memory.pk)}
    wordings: dict[str, Wording] = {}
    for number, at, one in seen:
        text = said.get(one) if isinstance(one, int) else one
        if text is not None and text != memory.text:
            wordings.setdefault(text, Wording(text, number, at))
    return list(wordings.values())


def _text_in(plain: str, memory_id: str) -> str | None:
    """The text of one bullet in a state of earlier times; its keys are sorted, so "text" follows "id"."""
    at = plain.find(f'"id": "{memory_id}"')
    start = plain.find('"text": ', at) if at >= 0 else -1
    if start < 0:
        return None
    value, _end = json.JSONDecoder().raw_decode(plain, start + len('"text": '))
    return value if isinstance(value, str) else None
