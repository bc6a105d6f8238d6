"""Two texts of one memory file merged by block, against the text that both began from (pure).

Blocks that only one side changed are taken from that side; those that both changed are questions. Text around the
blocks is that of the outside text, because nothing here writes any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.blocks import Block, Document, Format, Loose, parse, serialize
from memories.merge import BOTH, MINE, THEIRS, MergeBlock, is_conflict, merge_block

ALIKE = 0.3  # least share of bullets in common (or label and date) by which a block counts as the same


@dataclass(frozen=True)
class Trio:
    """One block in the three texts; None where a text has no such block. `at` is its place in the outside text."""

    key: str
    base: Block | None
    mine: Block | None
    theirs: Block | None
    at: int | None = None

    @property
    def is_conflict(self) -> bool:
        return is_conflict(_plain(self.base), _plain(self.mine), _plain(self.theirs))

    def shown(self, choice: str = "") -> MergeBlock:
        """The block as pages put it to a person."""
        return merge_block(self.key, _plain(self.base), _plain(self.mine), _plain(self.theirs), choice)

    def settled(self, choice: str) -> list[Block]:
        """What becomes of it; without a choice what is here stays, and what was deleted here stays as it is there."""
        if not self.is_conflict:
            one = self.theirs if self.mine == self.base else self.mine
            return [one] if one else []
        if choice == BOTH and self.mine and self.theirs:
            added = tuple(text for text in self.mine.bullets if text not in self.theirs.bullets)
            return [Block(self.theirs.chat, self.theirs.date, self.theirs.bullets + added)]
        wanted = self.theirs if choice == THEIRS or (choice != MINE and self.mine is None) else self.mine
        return [wanted] if wanted else []


def trios(base: str, mine: str, theirs: str, form: Format) -> list[Trio]:
    """All blocks of three texts, in our order, what only stands outside behind what it follows there."""
    old, ours, outside = (parse(text, form).blocks for text in (base, mine, theirs))
    of_mine, of_theirs = _aligned(old, ours), _aligned(old, outside)
    used = {place for place in of_theirs.values() if place is not None}
    # What both made anew is compared with each other.
    new_mine = [n for n in range(len(ours)) if n not in of_mine.values()]
    new_theirs = [n for n in range(len(outside)) if n not in used]
    twins = _aligned([ours[n] for n in new_mine], [outside[n] for n in new_theirs])
    found: list[Trio] = []
    back = {place: n for n, place in of_mine.items() if place is not None}
    for place, block in enumerate(ours):
        if (n := back.get(place)) is not None:
            at = of_theirs[n]
            found.append(Trio(f"b{n}", old[n], block, None if at is None else outside[at], at))
        else:
            twin = twins[new_mine.index(place)]
            at = None if twin is None else new_theirs[twin]
            found.append(Trio(f"n{place}", None, block, None if at is None else outside[at], at))
    for n, block in enumerate(old):
        if of_mine[n] is None:
            at = of_theirs[n]
            _insert(found, Trio(f"b{n}", block, None, None if at is None else outside[at], at))
    placed = {trio.at for trio in found}
    for at in new_theirs:
        if at not in placed:
            _insert(found, Trio(f"t{at}", None, None, outside[at], at))
    return found


def merged(rows: Sequence[Trio], choices: Mapping[str, str], theirs: str, form: Format) -> str:
    """The text that the choices make of it."""
    blocks: list[Block] = []
    starts: dict[int, int] = {}  # block of the outside text → its place in the result
    for row in rows:
        made = row.settled(choices.get(row.key, ""))
        if row.at is not None:
            starts[row.at] = len(blocks)
        blocks += made
    loose = [Loose(_place(one.before, starts, len(blocks)), one.text) for one in parse(theirs, form).loose]
    return serialize(Document(tuple(blocks), tuple(loose)), form)


def _place(before: int | None, starts: Mapping[int, int], count: int) -> int | None:
    place = None if before is None else starts.get(before)
    return place if place is not None and place < count else None


def _insert(found: list[Trio], row: Trio) -> None:
    """Behind the nearest block that stands in front of it in the outside text; at the end when it is not there."""
    earlier = [n for n, one in enumerate(found) if one.at is not None and row.at is not None and one.at < row.at]
    found.insert(max(earlier) + 1 if earlier else (len(found) if row.at is None else 0), row)


def _aligned(old: Sequence[Block], new: Sequence[Block]) -> dict[int, int | None]:
    """Which block of `new` continues each block of `old`: the same one, else the likest with what they share."""
    found: dict[int, int | None] = dict.fromkeys(range(len(old)))
    free = dict.fromkeys(range(len(new)))
    same: dict[Block, list[int]] = {}
    for place, block in enumerate(new):
        same.setdefault(block, []).append(place)
    for n, block in enumerate(old):
        if places := same.get(block):
            found[n] = place = places.pop(0)
            free.pop(place)
    for least in (0.5, ALIKE):
        for n in [n for n, place in found.items() if place is None]:
            best = max(free, key=lambda place: _likeness(old[n], new[place]), default=None)
            if best is not None and _likeness(old[n], new[best]) >= least:
                found[n] = best
                free.pop(best)
    return found


def _likeness(one: Block, other: Block) -> float:
    a, b = set(one.bullets), set(other.bullets)
    share = len(a & b) / max(len(a | b), 1)
    return 0.4 + 0.6 * share if (one.chat, one.date) == (other.chat, other.date) else share


def _plain(block: Block | None) -> dict[str, Any] | None:
    if block is None:
        return None
    return {"label": block.chat, "date": block.date, "memories": [{"text": text} for text in block.bullets]}
