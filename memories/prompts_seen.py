"""Which memory files were seen in a prompt, as the companion reports it. Only the time is kept, no text."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memories import mirrored
from memories.models import Memory
from sync.models import Attachment, Tavern

AGAIN_AFTER = timedelta(seconds=60)
SHORTEST = 8  # characters; a shorter bullet says too little to be recognised


def note_seen(tavern: Tavern, avatar: str, text: str) -> list[str]:
    """Mark the files of this character that have a memory in `text`, the Data Bank part of a prompt; their URLs."""
    rows = tavern.attachments.filter(is_ours=True, avatar=avatar, memory_file__isnull=False)
    seen = [row for row in rows if _was_just_seen(row) or _is_in(row, text)]
    Attachment.objects.for_user(tavern.owner).filter(pk__in=[row.pk for row in seen if not _was_just_seen(row)]).update(
        seen_in_prompt_at=timezone.now()
    )
    return [row.url for row in seen]


def _was_just_seen(attachment: Attachment) -> bool:
    at = attachment.seen_in_prompt_at
    return at is not None and timezone.now() - at < AGAIN_AFTER


def _is_in(attachment: Attachment, text: str) -> bool:
    user = attachment.tavern.owner
    bullets = Memory.objects.for_user(user).filter(block__file=mirrored.file_at(user, attachment))
    return any(len(bullet) >= SHORTEST and bullet in text for bullet in bullets.values_list("text", flat=True))
