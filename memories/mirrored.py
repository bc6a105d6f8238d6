"""One memory file may lie in several Data Banks: its character's own, and those of whoever shares it.

Every copy is a row with `attachment` and `written_version`: the file itself, and each MemoryShare. While a character
shares, its own Data Bank file holds the shared text; its own memories are kept and come back when the share ends.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from memories.models import MemoryFile, MemoryShare
from sync.models import Attachment, FileConflict

Copy = MemoryFile | MemoryShare


def copies_of(file: MemoryFile) -> list[Copy]:
    """The file itself, then its shares with characters that are still there."""
    rows = file.shares.filter(character__gone_at__isnull=True).order_by("created_at")
    return [file, *rows.select_related("character__tavern__owner", "attachment__tavern__owner")]


def copy_at(file: MemoryFile, attachment: Attachment) -> Copy:
    """The copy of `file` that is written to this attachment."""
    return file.shares.filter(attachment=attachment).first() or file


def file_at(user: User, attachment: Attachment) -> MemoryFile | None:
    """The memory file whose text this attachment holds now; a share comes before the character's own."""
    rows = MemoryFile.objects.for_user(user).select_related("character__tavern")
    return rows.filter(shares__attachment=attachment).first() or rows.filter(attachment=attachment).first()


def is_set_aside(file: MemoryFile) -> bool:
    """Whether the character remembers in somebody else's file meanwhile, so that this one is not written."""
    shares = MemoryShare.objects.for_user(file.owner).filter(character=file.character_id)
    return file.chat_id is None and shares.exists()


def note_written(copy: Copy, version: int, *, forward: bool = True) -> None:
    """The copy holds this version; with `forward` never an older one than noted."""
    found: QuerySet[Any] = _row(copy)
    (found.filter(written_version__lt=version) if forward else found).update(written_version=version)
    copy.written_version = version


def _row(copy: Copy) -> QuerySet[Any]:
    if isinstance(copy, MemoryFile):
        return MemoryFile.objects.for_user(copy.owner).filter(pk=copy.pk)
    return MemoryShare.objects.for_user(copy.file.owner).filter(pk=copy.pk)


def open_conflict(copy: Copy) -> FileConflict | None:
    """The question about this copy that waits for an answer, if any."""
    if copy.attachment_id is None:
        return None
    owner = copy.owner if isinstance(copy, MemoryFile) else copy.file.owner
    rows = FileConflict.objects.for_user(owner).filter(attachment=copy.attachment_id, decided_at__isnull=True)
    return rows.first()
