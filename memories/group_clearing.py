"""Clear a group: what its members would lose is counted first; one Undo brings all of it back.

By default only memories from this group's chats go; what a member remembers from elsewhere is touched when a person
says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from accounts.models import User
from memories import file_state, memory_file, trash_items
from memories.models import MemoryBlock, MemoryFile, TrashItem
from sync.models import Character, Group


@dataclass
class Loss:
    """What one member would lose: from this group's chats, and in all; `locked` ones are counted in both."""

    character: Character
    here: int = 0
    everything: int = 0
    locked_here: int = 0
    locked: int = 0


@dataclass(frozen=True)
class Cleared:
    """How many memories went, and the batch with which they come back."""

    memories: int
    batch: UUID


def losses(user: User, group: Group, members: Sequence[Character]) -> list[Loss]:
    """For each of `members` what clearing would take."""
    bullet = Q(memories__is_topic=False)
    locked = bullet & (Q(is_locked=True) | Q(memories__is_locked=True))
    here = Q(chat__group=group)
    rows = MemoryBlock.objects.for_user(user).filter(file__character__in=members).order_by()
    counted = rows.values_list("file__character").annotate(
        here=Count("memories", filter=bullet & here),
        everything=Count("memories", filter=bullet),
        locked_here=Count("memories", filter=locked & here),
        locked=Count("memories", filter=locked),
    )
    found = {pk: numbers for pk, *numbers in counted}
    return [Loss(one, *found.get(one.pk, ())) for one in members]


def clear(user: User, group: Group, members: Sequence[Character], *, everything: bool = False) -> Cleared:
    """Take the memories of these members out of their files: those from this group's chats, or all. All files or none.

    What goes lies in the trash, and all of it can be undone at once.
    """
    batch, gone = uuid.uuid4(), 0
    with transaction.atomic():
        for file in _files(user, members, None if everything else group):
            gone += _clear_all(user, file, batch) if everything else _clear_here(user, group, file, batch)
    return Cleared(gone, batch)


def _files(user: User, members: Sequence[Character], group: Group | None) -> list[MemoryFile]:
    """Files of these members; with a group, those that hold something from its chats."""
    rows = MemoryFile.objects.for_user(user).filter(character__in=members)
    rows = rows if group is None else rows.filter(blocks__chat__group=group).distinct()
    return list(rows.select_related("character__tavern", "owner").order_by("pk"))


def _clear_all(user: User, file: MemoryFile, batch: UUID) -> int:
    kind = TrashItem.Kind.CHARACTER if file.chat_id is None else TrashItem.Kind.FILE
    made = memory_file.clear(file, author=user, reason=_("All memories cleared"), kind=kind, batch=batch)
    return made.removed if made else 0


def _clear_here(user: User, group: Group, file: MemoryFile, batch: UUID) -> int:
    reason = _("Memories from the group “%(group)s” cleared") % {"group": group.name}
    with memory_file.change(file, reason=reason, author=user, batch=batch) as editor:
        rows = file.blocks.filter(chat__group=group)
        lost = file_state.dump_blocks(file, [str(pk) for pk in rows.values_list("pk", flat=True)])
        for block in lost:
            editor.delete_block(block["id"])
        trash_items.add_blocks(file, lost, file.version)
    return sum(not one["is_topic"] for block in lost for one in block["memories"])
