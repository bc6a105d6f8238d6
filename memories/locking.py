"""Locks: a locked bullet or block keeps its words, whoever would change them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts.models import User
from memories import memory_file
from memories.models import Memory, MemoryBlock, Revision


def lock_memory(user: User, memory: Memory, *, is_locked: bool) -> Revision | None:
    """Lock or unlock one bullet, as a revision; None when it was so already."""
    file = memory.block.file
    reason = _("Memory locked") if is_locked else _("Memory unlocked")
    with memory_file.change(file, reason=reason, author=user) as editor:
        row = editor.memory(memory.pk)
        if row.is_locked == is_locked:
            return None
        row.is_locked = is_locked
        row.save(update_fields=["is_locked", "updated_at"])
        editor.touch([row.block_id], is_reordered=False)
    return file.revisions.get(number=file.version)


def lock_block(user: User, block: MemoryBlock, *, is_locked: bool) -> Revision | None:
    """Lock or unlock a block with all its bullets, as a revision; None when it was so already."""
    file = block.file
    reason = _("Block locked") if is_locked else _("Block unlocked")
    with memory_file.change(file, reason=reason, author=user) as editor:
        editor.set_block(block.pk, is_locked=is_locked)
    return file.revisions.get(number=file.version) if editor.is_changed else None
