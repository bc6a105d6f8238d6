"""Revisions of a memory file, and what one of them changed."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import User
from memories.blocks import is_topic, parse
from memories.memory_list import topic_words
from memories.models import Revision
from memories.word_diff import Row, line_rows
from sync.models import Character

MAX_LINES = 4_000


@dataclass(frozen=True)
class BlockDiff:
    """One block before and after, as rows of lines."""

    title: str
    rows: list[Row]

    @property
    def old(self) -> list[Row]:
        return [row for row in self.rows if row.old]

    @property
    def new(self) -> list[Row]:
        return [row for row in self.rows if row.new]


@dataclass(frozen=True)
class Comparison:
    """What a revision changed: the blocks that differ, and how many stayed as they were."""

    blocks: list[BlockDiff]
    unchanged: int
    is_cut: bool = False


def revisions(user: User, character: Character) -> list[Revision]:
    """All revisions of the character's own file, newest first, without their texts."""
    rows = Revision.objects.for_user(user).filter(file__character=character, file__chat=None)
    return list(rows.select_related("author", "job", "file").order_by("-number"))


def previous(user: User, revision: Revision) -> Revision | None:
    """The revision before this one."""
    rows = Revision.objects.for_user(user).filter(file=revision.file_id, number__lt=revision.number)
    return rows.select_related("text").order_by("-number").first()


def compare(old: str, new: str) -> Comparison:
    """Blocks of two file texts matched by label and date, lines inside them by word. Both texts in canonical form."""
    before, after = _blocks(old), _blocks(new)
    lines = sum(len(part) for part in (*before.values(), *after.values()))
    found: list[BlockDiff] = []
    unchanged = 0
    for key in dict.fromkeys([*reversed(after), *reversed(before)]):
        left, right = before.get(key, []), after.get(key, [])
        if left == right:
            unchanged += 1
        elif len(found) < MAX_LINES // 20:
            found.append(_block_diff(left, right, key[0]))
    return Comparison(found, unchanged, lines > MAX_LINES)


def _blocks(text: str) -> dict[tuple[str, str, int], list[str]]:
    found: dict[tuple[str, str, int], list[str]] = {}
    for block in parse(text).blocks:
        number = sum(1 for key in found if key[:2] == (block.chat, block.date))
        found[(block.chat, block.date, number)] = list(block.bullets)
    return found


def _block_diff(left: list[str], right: list[str], label: str) -> BlockDiff:
    """An unchanged topic tag becomes the headline and is not listed again."""
    title = next((topic_words(lines[0]) for lines in (right, left) if lines and is_topic(lines[0])), label)
    if left and right and left[0] == right[0] and is_topic(left[0]):
        left, right = left[1:], right[1:]
    return BlockDiff(title, line_rows(left, right))
