"""File names inside a download that every system can unpack (pure)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MOST_LETTERS = 80
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def safe_name(name: str) -> str:
    """`name` as one part of a path: no separators, controls or reserved words, no dot or blank at its ends."""
    plain = _UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip(". ")
    plain = plain[:MOST_LETTERS].rstrip(". ") or "_"
    return f"_{plain}" if _RESERVED.match(plain) else plain


def distinct_names(names: Iterable[str]) -> list[str]:
    """Safe names for all of them, a number behind those that would be the same (also where case does not count)."""
    taken: set[str] = set()
    found = []
    for name in names:
        wanted = plain = safe_name(name)
        number = 2
        while wanted.casefold() in taken:
            wanted, number = f"{plain} {number}", number + 1
        taken.add(wanted.casefold())
        found.append(wanted)
    return found
