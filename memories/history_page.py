"""Revisions of a memory file, and what one of them changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories.blocks import is_topic
from memories.memory_filters import topic_words
from memories.models import MemoryFile, Revision
from memories.revisions import changed_blocks, contents, manifest_of
from memories.word_diff import Row, line_rows, word_diff

MAX_LINES = 4_000
Block = dict[str, Any]


@dataclass(frozen=True)
class BlockDiff:
    """One block before and after, as rows of lines. `about` says in a few words what happened to it."""

    id: str
    title: str
    rows: list[Row]
    about: str = ""

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


def revisions(user: User, file: MemoryFile) -> list[Revision]:
    """All revisions of a file, newest first, without their texts."""
    rows = Revision.objects.for_user(user).filter(file=file)
    return list(rows.select_related("author", "job").order_by("-number"))


def previous(user: User, revision: Revision) -> Revision | None:
    """The revision before this one."""
    rows = Revision.objects.for_user(user).filter(file=revision.file_id, number__lt=revision.number)
    return rows.select_related("state").order_by("-number").first()


def compare(before: Revision | None, after: Revision) -> Comparison:
    """Blocks in which two states of one file differ, the newest first, lines inside them by word."""
    file = after.file
    new = manifest_of(after)
    old = manifest_of(before) if before else {**new, "blocks": []}
    changed = changed_blocks(file, old, new)
    order = {one: place for place, one in enumerate([*contents(old), *contents(new)])}
    found: list[BlockDiff] = []
    lines = 0
    for one in sorted(changed, key=lambda one: -order[one]):
        left, right = changed[one]
        lines += sum(len(side["memories"]) for side in (left, right) if side)
        if lines <= MAX_LINES:
            found.append(_block_diff(one, left, right))
    return Comparison(found, len(contents(new)) - sum(1 for _old, new in changed.values() if new), lines > MAX_LINES)


def _block_diff(block_id: str, left: Block | None, right: Block | None) -> BlockDiff:
    """An unchanged topic tag becomes the headline and is not listed again."""
    old, new = _lines(left), _lines(right)
    some = right or left or {}
    title = next((topic_words(lines[0]) for lines in (new, old) if lines and is_topic(lines[0])), some.get("label", ""))
    if old and new and old[0] == new[0] and is_topic(old[0]):
        old, new = old[1:], new[1:]
    return BlockDiff(block_id, title, [*_facts(left, right), *line_rows(old, new)], _about(left, right))


def _lines(block: Block | None) -> list[str]:
    return [one["text"] for one in block["memories"]] if block else []


def _facts(left: Block | None, right: Block | None) -> list[Row]:
    """Label and date, where they changed."""
    if not left or not right:
        return []
    return [Row(*word_diff(left[name], right[name])) for name in ("label", "date") if left[name] != right[name]]


def _about(left: Block | None, right: Block | None) -> str:
    """What happened to the block, in a few words."""
    if not left or not right:
        return _("gone") if left else _("new")
    old, new = (sum(not one["is_topic"] for one in side["memories"]) for side in (left, right))
    if new < old:
        return ngettext("%(n)s memory less", "%(n)s memories less", old - new) % {"n": old - new}
    if new > old:
        return ngettext("%(n)s memory more", "%(n)s memories more", new - old) % {"n": new - old}
    return _lock_words(left, right)


def _lock_words(left: Block, right: Block) -> str:
    locked = [side["is_locked"] or any(one["is_locked"] for one in side["memories"]) for side in (left, right)]
    if locked[0] == locked[1]:
        return ""
    return _("locked") if locked[1] else _("unlocked")
