"""Takes stretches between an opening and a closing mark out of a text, in a time that grows with its length only. Pure.

A pattern like `<think>.*?</think>` looks for the end anew at each opening: a text of many openings without an end would
keep the whole process busy for minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST_TAG = 1000  # characters inside one tag


def without_pairs(
    text: str,
    opening: re.Pattern[str],
    closing: Callable[[str], re.Pattern[str]],
    take: Callable[[str, str], None] = lambda whole, inner: None,
) -> str:
    """`text` without each opening and everything up to its next closing mark; what has no end stays.

    `closing(name)` is the pattern of the end for the opening's first group ("" without one). `take(whole, inner)`
    hears what went.
    """
    kept: list[str] = []
    done = look = 0
    endless: set[str] = set()
    while start := opening.search(text, look):
        name = start[1].lower() if opening.groups else ""
        end = None if name in endless else closing(name).search(text, start.end())
        if end is None:
            endless.add(name)
            look = start.end()
            continue
        take(text[start.start() : end.end()], text[start.end() : end.start()])
        kept.append(text[done : start.start()])
        done = look = end.end()
    return "".join((*kept, text[done:]))
