"""A block that two sides changed: what each made of it, and how a person settles that (pure).

Blocks are as memories/file_state.py dumps them; None is a block that a side does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memories.blocks import is_topic

Block = dict[str, Any]
MINE, THEIRS, BOTH = "mine", "theirs", "both"


@dataclass(frozen=True)
class MergeBlock:
    """One block with its lines before, in the edit, and in the file now. An empty list: the side has no such block."""

    id: str
    title: str
    base: list[str]
    mine: list[str]
    theirs: list[str]
    choice: str = ""

    @property
    def is_settled(self) -> bool:
        return bool(self.choice)


@dataclass(frozen=True)
class Merge:
    """What stands between an edit and its revision; without blocks it can be saved."""

    blocks: list[MergeBlock] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        return all(block.is_settled for block in self.blocks)

    @property
    def is_needed(self) -> bool:
        return not self.is_settled


class MergeNeeded(Exception):
    """The file was changed in the same blocks meanwhile. Nothing was written; the edit is still there."""

    def __init__(self, merge: Merge, sentence: str) -> None:
        super().__init__(sentence)
        self.merge = merge


def is_conflict(base: Block | None, mine: Block | None, theirs: Block | None) -> bool:
    """Both sides changed what can be read of a block, and not in the same way."""
    seen = [_seen(one) for one in (base, mine, theirs)]
    return seen[0] != seen[1] and seen[0] != seen[2] and seen[1] != seen[2]


def is_locked_since(base: Block | None, mine: Block | None, theirs: Block | None) -> bool:
    """Whether the edit rewords or takes out words that were locked in the file after it began."""
    if base is None or theirs is None:
        return False
    ours = {one["id"]: one["text"] for one in mine["memories"]} if mine else {}
    locked = _locked(theirs) - _locked(base)
    return any(one["id"] in locked and ours.get(one["id"]) != one["text"] for one in theirs["memories"])


def merge_block(block_id: str, base: Block | None, mine: Block | None, theirs: Block | None, choice: str) -> MergeBlock:
    """The three sides as lines; the label is one when it differs."""
    sides = [one for one in (base, mine, theirs) if one]
    heads = {(one["label"], one["date"]) for one in sides}
    before, ours, now = (_lines(one, with_head=len(heads) > 1) for one in (base, mine, theirs))
    topics = [text for one in (mine, theirs, base) if one for text in _texts(one) if is_topic(text)]
    title = topics[0].strip("[]") if topics else next(one["label"] for one in (mine, theirs, base) if one)
    return MergeBlock(block_id, title, before, ours, now, choice)


def added_lines(base: Block | None, mine: Block | None, theirs: Block | None) -> list[Block]:
    """The bullets that "both" puts below theirs: those that the edit wrote and neither the file had nor has."""
    known = {*_texts(base), *_texts(theirs)}
    return [one for one in (mine or {"memories": []})["memories"] if one["text"] not in known]


def arranged(ids: Sequence[str], moved: Iterable[tuple[float, str, str | None]]) -> list[str]:
    """`ids` with the moved ones in their places: (order, id, the id to stand behind or None for the front)."""
    wanted = sorted(moved, key=lambda one: one[:2])
    names = {one for _order, one, _behind in wanted}
    placed = [one for one in ids if one not in names]
    for _order, one, behind in wanted:
        at = 0 if behind is None else placed.index(behind) + 1 if behind in placed else len(placed)
        placed.insert(at, one)
    return placed


def _seen(block: Block | None) -> tuple[str, str, tuple[str, ...]] | None:
    """What a person reads of a block; a block without bullets is none."""
    return (block["label"], block["date"], tuple(_texts(block))) if block and block["memories"] else None


def _locked(block: Block) -> set[str]:
    return {one["id"] for one in block["memories"] if block["is_locked"] or one["is_locked"]}


def _texts(block: Block | None) -> list[str]:
    return [one["text"] for one in block["memories"]] if block else []


def _lines(block: Block | None, *, with_head: bool) -> list[str]:
    if not block or not block["memories"]:
        return []
    head = [" · ".join(part for part in (block["label"], block["date"]) if part)] if with_head else []
    return [*head, *_texts(block)]
