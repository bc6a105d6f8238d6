"""Times are shown in the time zone of the person who looks; the session remembers when it was last used."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.sign_ins import note_visit


def personal_time_zone(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Activate the time zone of the signed-in person for the length of the request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "")
        try:
            zone = zoneinfo.ZoneInfo(name) if name else None
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            zone = None
        if request.user.is_authenticated:
            note_visit(request)
        with timezone.override(zone):
            return get_response(request)

    return middleware
