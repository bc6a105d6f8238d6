"""The activity log: what CharMem did, step by step, in words."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories.models import Activity


def note(user: User, step: str, text: str, *, level: str = "info", **about: Any) -> Activity:
    """One line of the log. `about` names the rows it concerns: character, group, chat, job, call."""
    return Activity.objects.create(owner=user, step=step, text=text, level=level, **about)
