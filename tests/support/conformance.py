"""What the conformance cases name and the product does in other steps: on rows, one block or one text at a time.

Each is made of the product's own pieces, so that the cases test those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memories import formats
from memories.blocks import UNKNOWN, Block, clean_bullet, clean_label
from memories.consolidation_plan import BLOCK_CHARS, BULLET_CHARS
from memories.find_replace import Search, replaced
from memories.formats_tags import has_tag


def count_memories(blocks: Iterable[Block]) -> int:
    """How many bullets the blocks hold."""
    return sum(len(block.bullets) for block in blocks)


def merge_blocks(blocks: Iterable[Block]) -> list[Block]:
    """One block per label, in order of first appearance, with the first date."""
    merged: dict[str, Block] = {}
    for block in blocks:
        known = merged.get(block.chat)
        merged[block.chat] = Block(block.chat, known.date, known.bullets + block.bullets) if known else block
    return list(merged.values())


def append_unique(present: Sequence[Block] | None, new: Iterable[Block] | None) -> tuple[list[Block], int, int]:
    """`present` and those of `new` that are not in it yet; with the numbers added and skipped."""
    blocks = list(present or ())
    seen = set(blocks)
    added = skipped = 0
    for block in new or ():
        if block in seen:
            skipped += 1
            continue
        seen.add(block)
        blocks.append(block)
        added += 1
    return blocks, added, skipped


def block_chars(bullets: Iterable[str]) -> int:
    """The size of a block in characters, roughly."""
    return BLOCK_CHARS + sum(len(bullet) + BULLET_CHARS for bullet in bullets)


def count_matches(blocks: Iterable[Block], search: Search) -> int:
    """In how many places of labels and bullets it stands."""
    return sum(len(search.places(text)) for block in blocks for text in (block.chat, *block.bullets))


def replace_all(blocks: Iterable[Block], search: Search) -> tuple[list[Block], int]:
    """The blocks with everything replaced, and in how many places. Bullets that end up empty go, and their blocks."""
    done, count = [], 0
    for block in blocks:
        found = [search.places(text) for text in (block.chat, *block.bullets)]
        count += sum(len(places) for places in found)
        label = clean_label(replaced(block.chat, found[0])) if found[0] else block.chat
        bullets = [
            clean_bullet(replaced(text, places)) if places else text
            for text, places in zip(block.bullets, found[1:], strict=True)
        ]
        kept = tuple(text for text in bullets if text)
        if kept or not block.bullets:
            done.append(Block(label, block.date, kept))
    return done, count


def reindex_set(numbers: Iterable[int], removed: int) -> list[int]:
    """Marked positions after the row at `removed` went: it is marked no longer, those behind it move up."""
    return sorted(number - (number > removed) for number in numbers if number != removed)


def convert_heuristic(text: str, form: str) -> tuple[list[Block], list[str]]:
    """Blocks and warnings, as spec/charmemory §5.2 gives them."""
    reading = formats.read(text or "", form)
    return reading.blocks, list(reading.warnings)


def migrate(text: str | None) -> str | list[Block] | None:
    """A memory file of an older form as blocks; a text that needs nothing comes back as it is (§5.5)."""
    if not text or has_tag(text):
        return text
    return formats.read(text, formats.detect_format(text), label=UNKNOWN).blocks
