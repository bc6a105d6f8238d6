"""News from a child to the supervisor: marked lines of its output, which reach neither console nor log file."""

from __future__ import annotations

import os
import sys

MARK = "\x1e"
PREPARED = "prepared"
READY = "ready"
SETUP = "setup"
BUSY = "busy"


def tell(word: str, value: str = "") -> bool:
    """Say `word` to the supervisor; False without one, when nothing is said."""
    has_supervisor = bool(os.environ.get("CHARMEM_LIFELINE"))
    if has_supervisor:
        sys.stdout.write(f"{MARK}{word} {value}\n")
        sys.stdout.flush()
    return has_supervisor


def heard(line: bytes) -> tuple[str, str] | None:
    """The word and value of a marked line, None for ordinary output."""
    text = line.decode("utf-8", "replace").rstrip("\n")
    if not text.startswith(MARK):
        return None
    word, _, value = text[1:].partition(" ")
    return word, value
