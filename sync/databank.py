"""Data Bank files of characters: which one is ours, under which URL, and taking over what a person added by hand."""

from __future__ import annotations

import secrets
import time

from django.db import transaction
from django.db.models import Q, QuerySet

from sync.models import Attachment, Character, Tavern

FILES = "/user/files/"
TAKEN_OVER = (
    "url",
    "name",
    "avatar",
    "character",
    "registered_size",
    "created_ms",
    "is_disabled",
    "file_present",
    "file_hash",
)


def find_or_create_attachment(character: Character, name: str) -> Attachment:
    """The character's Data Bank file called `name`: adopted with its URL when SillyTavern has one, else a new one.

    A new file has a stable ASCII name under user/files and is neither written nor registered yet.
    """
    found = _of(character).filter(name=name).order_by("-is_ours", "-created_ms").first()
    if found is None:
        return _new(character, name)
    claim(found)
    return found


def claim(attachment: Attachment) -> None:
    """From now on this is a file that we write; its URL stays (architecture, rule 5)."""
    if not attachment.is_ours:
        attachment.is_ours = True
        attachment.save(update_fields=["is_ours"])


def memory_file_candidates(character: Character) -> list[Attachment]:
    """The character's own Data Bank files, newest first, from which an existing memory file may be adopted."""
    return list(_of(character).order_by("-created_ms"))


def take_over_pasted(tavern: Tavern) -> list[Attachment]:
    """Adopt what a person added with a pasted command, by hand, or under a renamed character.

    Our file that is not registered takes the place of a registered entry with its URL, or with its character and
    name. Gives the files that changed; what they hold now counts as known, so that our text may be written there.
    """
    ours = tavern.attachments.filter(is_ours=True, is_registered=False, scope=Attachment.Scope.CHARACTER)
    return [file for file in ours if _take_over(file)]


def _take_over(file: Attachment) -> bool:
    wanted = getattr(file, "registration", None)
    is_namesake = Q(avatar=file.avatar, name__in={file.name, wanted.name if wanted else file.name})
    same = file.tavern.attachments.filter(is_namesake | Q(url=file.url), scope=file.scope, is_registered=True)
    free = same.filter(memory_file__isnull=True, gone_at__isnull=True).exclude(pk=file.pk)
    found = free.order_by("-created_ms").first()
    if found is None:
        return False
    with transaction.atomic():
        found.delete()
        for field in TAKEN_OVER:
            setattr(file, field, getattr(found, field))
        file.is_registered, file.gone_at = True, None
        file.written_hash, file.index_hash, file.index_state = found.file_hash, "", Attachment.Index.STALE
        file.save()
    return True


def _of(character: Character) -> QuerySet[Attachment]:
    """The character's entries, without those whose file is another character's memory file already."""
    everything = character.tavern.attachments
    taken = everything.filter(memory_file__isnull=False).exclude(memory_file__character=character)
    rows = everything.filter(scope=Attachment.Scope.CHARACTER, avatar=character.avatar, gone_at__isnull=True)
    return rows.exclude(url__in=taken.values("url"))


def _new(character: Character, name: str) -> Attachment:
    return Attachment.objects.create(
        tavern=character.tavern,
        scope=Attachment.Scope.CHARACTER,
        avatar=character.avatar,
        character=character,
        url=f"{FILES}cm_{secrets.token_hex(8)}.txt",
        name=name,
        created_ms=int(time.time() * 1000),
        is_ours=True,
    )
