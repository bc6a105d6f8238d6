"""Reading and writing a large memory file, beside the time that cutting the same text into lines takes."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

from bench import Row
from memories.blocks import Block, parse, serialize, serialize_memories

SIZE = 5 * 1024 * 1024  # characters
WORDS = "harbour lantern promise bakery winter letter garden bridge sister captain apple music window river".split()
LIMIT = 20


def run() -> list[Row]:
    """Parse and serialise 5 MB of memory file. Needs nothing running."""
    text = _memory_file()
    bare = _best(lambda: re.findall(r"[^\n]+\n", text))
    document = parse(text)
    assert serialize(document) == text
    reading, writing = _best(lambda: parse(text)), _best(lambda: serialize(document))
    both = reading + writing
    return [
        Row("read 5 MB of memory file", reading * 1000, "ms", bare * 1000, reading / bare),
        Row("write 5 MB of memory file", writing * 1000, "ms", bare * 1000, writing / bare),
        Row("read and write 5 MB of memory file", both * 1000, "ms", bare * 1000, both / bare, LIMIT),
    ]


def _memory_file() -> str:
    """Blocks of five bullets of usual length."""
    dice = random.Random(7)
    blocks: list[Block] = []
    size = 0
    while size < SIZE:
        bullets = tuple(" ".join(dice.choices(WORDS, k=14)).capitalize() + "." for _ in range(5))
        block = Block(f"Flux - {len(blocks)}", "2026-02-15 14:30", ("[Flux, Alex — a day]", *bullets))
        blocks.append(block)
        size += sum(len(one) + 3 for one in block.bullets) + 70
    return serialize_memories(blocks)


def _best(work: Callable[[], object], tries: int = 7) -> float:
    """Seconds of the fastest try: the others were disturbed."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
