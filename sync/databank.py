"""Data Bank files of characters: which one is ours, under which URL, and taking over what a person added by hand."""

from __future__ import annotations

import secrets
import time

from django.db import transaction
from django.db.models import Q, QuerySet

from sync.models import Attachment, Character, Chat, Tavern

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


def of_chat(known: Attachment | None, chat: Chat, character: Character, name: str) -> Attachment:
    """Where the memory of one chat is written: the Data Bank of that chat, whose files no other chat sees.

    A file of that name that SillyTavern lists already, in the chat's Data Bank or in the character's, is adopted with
    its URL. One that no list holds yet is meant for the chat's.
    """
    if known is None:
        in_chat = chat.attachments.filter(scope=Attachment.Scope.CHAT, name=name, gone_at__isnull=True)
        free = in_chat.filter(memory_file__isnull=True).order_by("-is_ours", "-created_ms").first()
        listed = _of(character).filter(name=name, is_registered=True, memory_file__isnull=True)
        known = free or listed.order_by("-created_ms").first() or _new(character, name)
        claim(known)
    if not known.is_registered and known.scope == Attachment.Scope.CHARACTER:
        known.scope, known.chat, known.character, known.avatar = Attachment.Scope.CHAT, chat, None, ""
        known.save(update_fields=["scope", "chat", "character", "avatar"])
    return known


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

    Our file that is not registered takes the place of a registered entry with its URL, or with its character or chat
    and its name. Gives the files that changed; what they hold now counts as known, so that our text may be written
    there.
    """
    ours = tavern.attachments.filter(is_ours=True, is_registered=False).exclude(scope=Attachment.Scope.GLOBAL)
    return [file for file in ours if _take_over(file)]


def _take_over(file: Attachment) -> bool:
    wanted = getattr(file, "registration", None)
    is_namesake = Q(avatar=file.avatar, name__in={file.name, wanted.name if wanted else file.name})
    places = {"scope": file.scope, "chat": file.chat_id, "is_registered": True}
    same = file.tavern.attachments.filter(is_namesake | Q(url=file.url), **places)
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
