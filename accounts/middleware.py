"""Times are shown in the time zone of the person who looks."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


def personal_time_zone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Activate the time zone of the signed-in person for the length of the request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "")
        try:
            zone = zoneinfo.ZoneInfo(name) if name else None
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            zone = None
        with timezone.override(zone):
            return get_response(request)

    return middleware
