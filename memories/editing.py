"""What a person does with memories on a page. Each verb takes the person first and makes one revision.

All raise VersionConflict when `expected_version` is given and the file has moved on, NotInFile when the row is gone,
ValueError with a finished sentence when a text is empty. The revision is returned; None means nothing changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import file_state, memory_file, trash_items
from memories.blocks import is_topic, timestamp
from memories.file_editor import Editor
from memories.local_time import local_now
from memories.models import Memory, MemoryBlock, MemoryFile, Revision
from memories.scopes import own_file
from sync.models import Character


def edit_memory(user: User, memory: Memory, text: str, *, expected_version: int | None = None) -> Revision | None:
    """Change the words of one memory."""
    with _change(user, memory.block.file, _("Memory edited"), expected_version) as editor:
        _check_unlocked(memory.block, memory)
        editor.set_text(memory.pk, text)
    return _made(editor)


def add_memory(
    user: User, block: MemoryBlock, text: str, *, position: int | None = None, expected_version: int | None = None
) -> Revision | None:
    """Add one memory to a block."""
    with _change(user, block.file, _("Memory added"), expected_version) as editor:
        editor.add_memory(block.pk, text, position)
    return _made(editor)


def delete_memory(user: User, memory: Memory, *, expected_version: int | None = None) -> Revision | None:
    """Delete one memory; its block goes when it becomes empty."""
    with _change(user, memory.block.file, _("Memory deleted"), expected_version) as editor:
        _check_unlocked(memory.block, memory)
        lost = file_state.dump_blocks(memory.block.file, [str(memory.block_id)])
        editor.delete_memory(memory.pk)
        if not editor.file.blocks.filter(pk=memory.block_id).exists():
            trash_items.add_blocks(editor.file, lost, editor.file.version)
    return _made(editor)


def add_block(
    user: User,
    subject: Character | MemoryFile,
    topic: str,
    bullets: Sequence[str],
    *,
    expected_version: int | None = None,
) -> Revision | None:
    """Add a block that the person wrote to a character's file (or to this file); its topic becomes the first bullet."""
    file = subject if isinstance(subject, MemoryFile) else own_file(subject)
    if not any(bullet.strip() for bullet in bullets):
        raise ValueError(_("A memory needs some text."))
    tag = [] if is_topic(bullets[0]) else [topic if is_topic(topic) else f"[{file.character.name} — {topic.strip()}]"]
    with _change(user, file, _("Block added"), expected_version) as editor:
        date = timestamp(local_now(user, timezone.now()))
        editor.add_block(topic, [*tag, *bullets], date=date, origin=MemoryBlock.Origin.WRITTEN)
    return _made(editor)


def delete_block(user: User, block: MemoryBlock, *, expected_version: int | None = None) -> Revision | None:
    """Delete a block with all its memories."""
    with _change(user, block.file, _("Block deleted"), expected_version) as editor:
        _check_unlocked(block, all_of_it=True)
        lost = file_state.dump_blocks(block.file, [str(block.pk)])
        editor.delete_block(block.pk)
        trash_items.add_blocks(block.file, lost, block.file.version)
    return _made(editor)


def move_block(user: User, block: MemoryBlock, step: int, *, expected_version: int | None = None) -> Revision | None:
    """Move a block by `step` places on the page, which shows the newest first: -1 is up, later in the file."""
    with _change(user, block.file, _("Block moved"), expected_version) as editor:
        place = next(n for n, one in enumerate(editor.blocks) if one.pk == block.pk)
        editor.move_block(block.pk, max(0, place - step))
    return _made(editor)


def move_memory(
    user: User, memory: Memory, block: MemoryBlock, position: int, *, expected_version: int | None = None
) -> Revision | None:
    """Put a memory at `position` of a block of the same file."""
    with _change(user, memory.block.file, _("Memory moved"), expected_version) as editor:
        editor.move_memory(memory.pk, block.pk, position)
    return _made(editor)


def restore_revision(user: User, revision: Revision) -> Revision | None:
    """Bring an earlier state back, as a new revision."""
    reason = _("Revision %(number)s restored") % {"number": revision.number}
    return memory_file.restore(revision.file, revision, author=user, reason=reason)


def undo(user: User, file: MemoryFile, number: int | None = None) -> Revision | None:
    """Take back the change that made revision `number`, the newest one when none is named.

    What an extraction added since stays. ValueError when the file was changed in other ways since.
    """
    latest = file.revisions.first()
    if number is None or latest is None or latest.number <= number:
        return undo_last(user, file)
    reason = _("Revision %(number)s undone") % {"number": number}
    return memory_file.take_back(file, number, author=user, reason=reason)


def undo_last(user: User, file: MemoryFile) -> Revision | None:
    """Take the newest change back; called again, the one before it. None at the beginning of the history."""
    latest = file.revisions.first()
    if latest is None:
        return None
    stands_at = latest.number if latest.restored is None else latest.restored
    target = file.revisions.filter(number__lt=stands_at).first()
    if target is None:
        return None
    reason = _("Undone: back to revision %(number)s") % {"number": target.number}
    return memory_file.restore(file, target, author=user, reason=reason)


def undo_batch(user: User, batch: uuid.UUID) -> list[Revision]:
    """Take back what one action did in several files: all of them in one go, or none.

    ValueError names the file that was changed in other ways since.
    """
    rows = Revision.objects.for_user(user).filter(batch=batch).select_related("file__owner").order_by("file", "number")
    made = []
    with transaction.atomic():
        for revision in rows:
            file = revision.file
            try:
                undone = undo(user, file, revision.number)
            except ValueError as problem:
                sentence = _("%(name)s was changed since, so nothing was taken back. History has every version.")
                raise ValueError(sentence % {"name": file.name}) from problem
            made += [undone] if undone else []
    return made


def _check_unlocked(block: MemoryBlock, memory: Memory | None = None, *, all_of_it: bool = False) -> None:
    """ValueError when the words are locked, whatever the row in hand says; `all_of_it` = no bullet may be locked."""
    if MemoryBlock.objects.for_user(block.file.owner).filter(pk=block.pk, is_locked=True).exists():
        raise ValueError(_("This block is locked. Unlock it first."))
    bullets = Memory.objects.for_user(block.file.owner).filter(block=block.pk, is_locked=True)
    if (memory or all_of_it) and (bullets.filter(pk=memory.pk) if memory else bullets).exists():
        raise ValueError(_("A locked memory keeps its words. Unlock it first."))


@contextmanager
def _change(user: User, file: MemoryFile, reason: str, expected_version: int | None) -> Iterator[Editor]:
    if file.owner_id != user.pk:
        raise PermissionError("a memory file is changed by its owner only")
    with memory_file.change(file, reason=reason, author=user, expected_version=expected_version) as editor:
        yield editor


def _made(editor: Editor) -> Revision | None:
    return editor.file.revisions.get(number=editor.file.version) if editor.is_changed else None
