"""Jobs that wait for something which a person can end: when it has ended they go on at once."""

from __future__ import annotations

from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from jobs.sending import send_wakes


def wake_paused(cause: str, owner: User | None = None) -> int:
    """Let the paused jobs go on that wait for `cause` (JobPaused), `owner`'s or everybody's; how many they are.

    A job that still cannot go on finds that out in its next chunk and waits again.
    """
    now = timezone.now()
    with unscoped("what these jobs waited for has ended"):
        paused = Job.objects.filter(state=Job.State.PAUSED, error_type=cause)
        mine = paused if owner is None else paused.filter(owner=owner)
        count = mine.update(not_before=None, sent_at=now, updated_at=now)
    send_wakes(count)
    return count
