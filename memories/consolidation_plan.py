"""What a consolidation takes up, and how it is cut into calls (pure; spec/charmemory §5.1).

What is fresh is said by the origin that each block keeps, never guessed from its label. Blocks that are locked or that
came out of a consolidation stay out word for word, as do locked bullets.

A call's answer may be as long as its input and some more, so both have to fit into the model's window: the pieces are
cut to that, never the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from memories.extraction_prompt import USUAL_CONTEXT

FRESH = frozenset({"extracted", "pinned", "written", "imported"})
# Chat names as SillyTavern makes them ("Flux - 2026-02-15@10h00m00s", "… Branch #2"), and plain ids.
CHAT_STAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}\s?@\d{2}h\s?\d{2}m\s?\d{2}s")
PLAIN_ID = re.compile(r"[A-Za-z0-9_-]+")
BLOCK_CHARS, BULLET_CHARS = 30, 3  # what a block and a bullet cost besides their text, in characters

MOST_MATERIAL = 6_000  # tokens of memories in one call: longer lists make models forget
LEAST_MATERIAL = 120
ANSWER_SHARE, ANSWER_EXTRA = 1.25, 256  # the answer: as long as the input, with ids and labels
SPARE = 64


@dataclass(frozen=True)
class Item:
    """One memory on its way into a call: a bullet of the file, or one that an earlier call made.

    Items with the same `block` stand together under that block's label, date and topic.
    """

    id: str
    text: str
    block: str = ""
    label: str = ""
    date: str = ""
    topic: str = ""


@dataclass(frozen=True)
class Size:
    """What an estimate counts, all in the unit of the sizes it was given."""

    memories: int
    prompt: int
    answer: int


def is_fresh(origin: str, *, is_locked: bool) -> bool:
    """Whether a block is chosen without being asked for."""
    return origin in FRESH and not is_locked


def is_chat_name(label: str) -> bool:
    """Whether a label can only be a chat's: for blocks of other programs, which say nothing about their origin."""
    return label != "unknown" and bool(PLAIN_ID.fullmatch(label) or CHAT_STAMP.search(label))


def estimate_size(sizes: Sequence[int], *, prompt: int, output_ratio: float) -> Size:
    """What goes in and about what comes out when blocks of these sizes meet a prompt of that size."""
    memories = sum(sizes)
    return Size(memories, memories + prompt, math.ceil(memories * output_ratio))


def pack(sizes: Sequence[int], budget: int) -> list[int]:
    """How many things each pack takes, in order: as many as fit the budget; one that is too large goes alone."""
    counts: list[int] = []
    used = 0
    for size in sizes:
        if counts and used + size <= budget:
            counts[-1] += 1
            used += size
        else:
            counts.append(1)
            used = size
    return counts


def room(context: int | None, fixed: int) -> int:
    """Tokens of memories that one call takes: with the fixed text and an answer as long they fit into the window."""
    free = (context or USUAL_CONTEXT) - fixed - SPARE - ANSWER_EXTRA
    return max(LEAST_MATERIAL, min(MOST_MATERIAL, int(free / (1 + ANSWER_SHARE))))


def answer_room(material: int, context: int | None, fixed: int) -> int:
    """Tokens that an answer may have: as many as its input and some more, as far as the window reaches."""
    wanted = int(material * ANSWER_SHARE) + ANSWER_EXTRA
    return max(LEAST_MATERIAL, min(wanted, (context or USUAL_CONTEXT) - fixed - material - SPARE))


def pieces(items: Sequence[Item], budget: int, measure: Callable[[Sequence[Item]], int]) -> list[list[Item]]:
    """The items cut for one call each: in order, all of them, blocks whole as far as they fit the budget."""
    units = [unit for block in in_blocks(items) for unit in _cut(block, budget, measure)]
    found: list[list[Item]] = []
    start = 0
    for count in pack([measure(unit) for unit in units], budget):
        found.append([item for unit in units[start : start + count] for item in unit])
        start += count
    return found


def halves(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Two parts of about the same size, cut between blocks if a cut there is near the middle. Needs two items."""
    sizes = [len(item.text) + BULLET_CHARS for item in items]
    middle = sum(sizes) / 2
    edges = range(1, len(items))
    off = {edge: abs(sum(sizes[:edge]) - middle) for edge in edges}
    best = min(edges, key=lambda edge: off[edge])
    between = [edge for edge in edges if items[edge - 1].block != items[edge].block and off[edge] <= middle / 2]
    edge = min(between, key=lambda edge: off[edge], default=best)
    return list(items[:edge]), list(items[edge:])


def in_blocks(items: Iterable[Item]) -> list[list[Item]]:
    """Neighbours of the same block together."""
    return [list(group) for _block, group in groupby(items, key=lambda item: item.block)]


def _cut(block: list[Item], budget: int, measure: Callable[[Sequence[Item]], int]) -> list[list[Item]]:
    if measure(block) <= budget or len(block) == 1:
        return [block]
    counts = pack([measure([item]) for item in block], budget)
    edges = [sum(counts[:n]) for n in range(len(counts) + 1)]
    return [block[start:end] for start, end in pairwise(edges)]
