"""Blocks that were changed on two sides, as the page puts them to the person."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from memories.blocks import is_topic
from memories.memory_filters import topic_words
from memories.merge import MINE, THEIRS, Merge, MergeBlock
from memories.word_diff import Piece, lines_in_line


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


def settled_words(base: bool, mine: bool, theirs: bool, *, is_ours: bool) -> str:
    """What happened to a block that one side changed; the flags say which texts have it."""
    if not base:
        return _("new here") if mine else _("new in SillyTavern")
    if not mine:
        return _("deleted here")
    if not theirs:
        return _("deleted in SillyTavern")
    return _("changed here") if is_ours else _("changed in SillyTavern")


def _card(block: MergeBlock) -> MergeCard:
    block = _without_tag(block)
    mine, theirs = (Side(lines_in_line(block.base, side), not side) for side in (block.mine, block.theirs))
    # Where one side deleted, the text that is left is chosen in advance: what stays can still be deleted.
    safe = THEIRS if mine.is_gone else MINE
    return MergeCard(block, mine, theirs, _about(block), block.choice or safe)


def _without_tag(block: MergeBlock) -> MergeBlock:
    """A topic tag that all sides share is the headline and is not listed again."""
    sides = [side for side in (block.base, block.mine, block.theirs) if side]
    tags = {side[0] for side in sides}
    if len(tags) != 1 or not is_topic(next(iter(tags))):
        return replace(block, title=topic_words(block.title))
    base, mine, theirs = (side[1:] for side in (block.base, block.mine, block.theirs))
    return replace(block, title=topic_words(block.title), base=base, mine=mine, theirs=theirs)


def _about(block: MergeBlock) -> str:
    if not block.mine:
        return _("you deleted it, meanwhile it was changed")
    if not block.theirs:
        return _("you changed it, meanwhile it was deleted")
    if not block.base:
        return _("made on both sides")
    return _("changed on both sides")
