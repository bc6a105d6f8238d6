"""One memory file may lie in several Data Banks: its character's own, and those of whoever shares it.

Every copy is a row with `attachment` and `written_version`: the file itself, each MemoryShare, and the MemoryLine of a
branch that is open. While a character shares, its own Data Bank file holds the shared text; its own memories are kept
and come back when the share ends. While a branch is open it holds that branch's text in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from memories.models import MemoryFile, MemoryLine, MemoryShare
from sync.models import Attachment, Character, FileConflict

Guest = MemoryShare | MemoryLine  # stands in the Data Bank file of a character in place of its own memories
Copy = MemoryFile | Guest
WITH_GUESTS = ("file__owner", "file__character", "attachment__tavern__owner", "attachment__registration")


def copies_of(file: MemoryFile) -> list[Copy]:
    """The file itself, then its guest copies with characters that are still there."""
    found: list[Copy] = [file]
    for rows in (file.shares.order_by("created_at"), file.lines.order_by("created_at")):
        there = rows.filter(character__gone_at__isnull=True)
        found += there.select_related("character__tavern__owner", "attachment__tavern__owner")
    return found


def copy_at(file: MemoryFile, attachment: Attachment) -> Copy:
    """The copy of `file` that is written to this attachment."""
    guests = (rows.filter(attachment=attachment).first() for rows in (file.shares, file.lines))
    return next((guest for guest in guests if guest is not None), file)


def file_at(user: User, attachment: Attachment) -> MemoryFile | None:
    """The memory file whose text this attachment holds now; a guest comes before the character's own."""
    rows = MemoryFile.objects.for_user(user).select_related("character__tavern")
    for holds in ({"shares__attachment": attachment}, {"lines__attachment": attachment}, {"attachment": attachment}):
        if found := rows.filter(**holds).first():
            return found
    return None


def guest_of(character: Character) -> Guest | None:
    """What stands in the character's Data Bank file in place of its own memories, if anything does. One query."""
    kinds = ("memory_share", "memory_line")
    rows = Character.objects.for_user(character.tavern.owner).filter(pk=character.pk)
    row = rows.select_related(*(f"{kind}__{name}" for kind in kinds for name in WITH_GUESTS)).first()
    share: MemoryShare | None = getattr(row, "memory_share", None)
    line: MemoryLine | None = getattr(row, "memory_line", None)
    return share or line


def as_shown(guest: Guest) -> MemoryFile:
    """The guest's file as it lies in the character's Data Bank: with that attachment and what is written there."""
    file = guest.file
    file.attachment, file.written_version = guest.attachment, guest.written_version
    return file


def guests_in(tavern_ids: Iterable[Any], user: User) -> list[Guest]:
    """All guests in the Data Bank files of characters that are still there."""
    found: list[Guest] = []
    for model in (MemoryShare, MemoryLine):
        rows = model.objects.for_user(user).filter(character__tavern__in=tavern_ids, character__gone_at__isnull=True)
        found += rows.select_related(*WITH_GUESTS)
    return found


def is_set_aside(file: MemoryFile) -> bool:
    """Whether a guest stands in the character's Data Bank file meanwhile, so that this one is not written."""
    return file.chat_id is None and guest_of(file.character) is not None


def note_written(copy: Copy, version: int, *, forward: bool = True) -> None:
    """The copy holds this version; with `forward` never an older one than noted."""
    found: QuerySet[Any] = _row(copy)
    (found.filter(written_version__lt=version) if forward else found).update(written_version=version)
    copy.written_version = version


def _row(copy: Copy) -> QuerySet[Any]:
    if isinstance(copy, MemoryFile):
        return MemoryFile.objects.for_user(copy.owner).filter(pk=copy.pk)
    return type(copy).objects.for_user(copy.file.owner).filter(pk=copy.pk)


def open_conflict(copy: Copy) -> FileConflict | None:
    """The question about this copy that waits for an answer, if any."""
    if copy.attachment_id is None:
        return None
    owner = copy.owner if isinstance(copy, MemoryFile) else copy.file.owner
    rows = FileConflict.objects.for_user(owner).filter(attachment=copy.attachment_id, decided_at__isnull=True)
    return rows.first()
