"""Begin reading a chat for whoever remembers it: its character, all members of its group, or one of them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from sync.models import Character, Chat

Ends = tuple[int | None, int | None]


def start_reading(user: User, chat: Chat, character: Character | None = None, ends: Ends | None = None) -> Job:
    """Queue the reading of what is unread in a chat, inside `ends` (first and last number, None: to that end).

    Without `character` a group's chat is read for all members. ValueError with a finished sentence.
    """
    ranges = None if ends is None else {str(chat.pk): list(ends)}
    if chat.group is not None:
        members = None if character is None else [character]
        return start_group(user, chat.group, chats=[chat], members=members, ranges=ranges)
    if chat.character is None:
        raise ValueError(_("Nobody remembers this chat. Nothing was read."))
    return start_extraction(user, character=chat.character, chat=chat, ranges=ranges)
