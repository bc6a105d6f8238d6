"""How often a person may ask for what a model is paid for, or what takes the server a while to read."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts import throttling
from accounts.access import PersonRequest

TIMES_A_MINUTE = 30


def keep_pace(request: PersonRequest, what: str) -> None:
    """Count one "run", "try" or "upload" of the person. ValueError with a finished sentence when it is too many."""
    if not throttling.allow((what, str(request.user.pk)), times=TIMES_A_MINUTE, seconds=60):
        raise ValueError(_("That was a lot within one minute. Wait a moment and try again; nothing was started."))
