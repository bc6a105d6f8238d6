"""Locks: a locked bullet or block keeps its words, whoever would change them."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import memory_file
from memories.file_editor import Editor
from memories.memory_filters import FLAGS
from memories.models import Memory, MemoryBlock, MemoryFile, Revision


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


def lock_file(user: User, file: MemoryFile, *, is_locked: bool) -> Revision | None:
    """Lock or unlock all that a file holds now, as one revision; None when it was so already. What comes later is not
    locked. Unlocking frees single bullets too."""
    reason = _("All memories locked") if is_locked else _("All memories unlocked")
    with memory_file.change(file, reason=reason, author=user) as editor:
        for block in editor.blocks:
            editor.set_block(block.pk, is_locked=is_locked)
        if not is_locked:
            _free_bullets(editor)
    return file.revisions.get(number=file.version) if editor.is_changed else None


def count_locked(user: User, file: MemoryFile) -> int:
    """How many bullets of a file keep their words, by their own lock or their block's."""
    rows = Memory.objects.for_user(user).filter(block__file=file, is_topic=False)
    return rows.filter(FLAGS["locked"]).count()


def _free_bullets(editor: Editor) -> None:
    locked = Memory.objects.for_user(editor.file.owner).filter(block__file=editor.file, is_locked=True)
    blocks = set(locked.values_list("block_id", flat=True))
    if blocks:
        locked.update(is_locked=False, updated_at=timezone.now())
        editor.touch(blocks, is_reordered=False)
