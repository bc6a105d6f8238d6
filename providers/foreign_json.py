"""Makes what a foreign server's JSON says storable and showable. Pure."""

from __future__ import annotations

from typing import Any

DEEPEST = 64
REPLACEMENT = "\ufffd"


def storable(value: Any, depth: int = DEEPEST) -> Any:
    """The same value without NUL and lone surrogates, which databases and pages refuse; nesting is cut at `depth`."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(str(key)): storable(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list):
        return [storable(item, depth - 1) for item in value] if depth else None
    return value


def _text(text: str) -> str:
    clean = text.replace("\x00", REPLACEMENT)
    if clean.isascii():
        return clean
    return clean.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
