"""Have a group read: everything unread, one member alone, the part that failed, or all of it once more."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from jobs.enqueue import retry
from jobs.models import Job
from memories import watermark
from memories.extraction_group import start_group
from memories.group_page import GroupFrame
from sync.models import Character, Group


def read_group(user: User, group: Group, members: Sequence[Character] | None = None) -> Job:
    """Start reading what is unread, for all members or for some. A member whose last part failed goes on with it.

    ValueError with a finished sentence when nothing can be started.
    """
    if members is not None and len(members) == 1 and (failed := _failed_part(user, group, members[0])):
        return failed
    return start_group(user, group, members=None if members is None else list(members))


def _failed_part(user: User, group: Group, member: Character) -> Job | None:
    """The part of the group's last reading that failed for this member, queued again."""
    parts = GroupFrame(user, group).parts
    part = next((one for one in parts if one.subject == f"character:{member.pk}"), None)
    return part if part and part.state == Job.State.FAILED and retry(part) else None


def read_again(user: User, group: Group, members: Sequence[Character]) -> int:
    """Count this group's chats as not read for these members; how many messages are unread by that, for all together.

    Memories stay as they are.
    """
    chats = GroupFrame(user, group).chats
    with transaction.atomic():
        return sum(watermark.reopen(user, chat, member) for chat in chats for member in members)
