"""Making foreign text storable: no NUL, no half surrogates, no longer than the column."""

from __future__ import annotations

from typing import Any

BIG = 2**53


def clean(text: str) -> str:
    """`text` without NUL and without lone surrogates, which databases refuse."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def word(value: Any, most: int) -> str:
    """A text field of foreign JSON, cut to `most` characters; anything but text and numbers is empty."""
    if isinstance(value, str):
        return clean(value[:most])
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)[:most]
    return ""


def words(value: Any, most: int) -> list[str]:
    """A list of text; text alone is split at commas, as old cards write their tags and keys."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [text for part in parts if (text := word(part, most).strip())]


def whole(value: Any, default: int = 0, least: int = -BIG, most: int = BIG) -> int:
    """A whole number of foreign JSON, kept between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        return min(max(int(value), least), most)
    except (OverflowError, ValueError):
        return default


def table(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """A JSON list, or an empty one."""
    return value if isinstance(value, list) else []


def plain(value: Any, depth: int = 8) -> Any:
    """A JSON value that every database stores: texts cleaned, no NaN, nesting cut at `depth`."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {clean(str(key)): plain(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list):
        return [plain(item, depth - 1) for item in value] if depth else None
    return value
