"""Times as a person's own wall clock shows them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from accounts.models import User


def local_now(user: User, moment: datetime) -> datetime:
    """`moment` in the person's time zone; an unknown zone counts as UTC."""
    try:
        return moment.astimezone(ZoneInfo(user.time_zone))
    except (ZoneInfoNotFoundError, ValueError):
        return moment
