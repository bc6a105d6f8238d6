"""Blocks that were changed on two sides, as the page puts them to the person."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from memories.merge import BOTH, MINE, THEIRS, Merge, MergeBlock
from memories.word_diff import Piece, lines_in_line

CHOICES = (MINE, THEIRS, BOTH)


@dataclass(frozen=True)
class Side:
    """One wording of a block beside what it was before: its lines in pieces."""

    lines: list[list[Piece]]
    is_gone: bool


@dataclass(frozen=True)
class MergeCard:
    """One block with its two wordings; `about` says in a few words what happened."""

    block: MergeBlock
    mine: Side
    theirs: Side
    about: str
    chosen: str

    @property
    def can_both(self) -> bool:
        """Both can stand one below the other only where both sides have text."""
        return not self.mine.is_gone and not self.theirs.is_gone


def merge_cards(merge: Merge) -> list[MergeCard]:
    """All blocks, open questions first."""
    cards = [_card(block) for block in merge.blocks]
    return sorted(cards, key=lambda card: card.block.is_settled)


def _card(block: MergeBlock) -> MergeCard:
    mine, theirs = (Side(lines_in_line(block.base, side), not side) for side in (block.mine, block.theirs))
    # Where one side deleted, the text that is left is chosen in advance: what stays can still be deleted.
    safe = THEIRS if mine.is_gone else MINE
    return MergeCard(block, mine, theirs, _about(block), block.choice or safe)


def _about(block: MergeBlock) -> str:
    if not block.mine:
        return _("you deleted it, meanwhile it was changed")
    if not block.theirs:
        return _("you changed it, meanwhile it was deleted")
    if not block.base:
        return _("made on both sides")
    return _("changed on both sides")
