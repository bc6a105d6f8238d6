"""Times are shown in the time zone of the person who looks; the session remembers when it was last used."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.sign_ins import note_visit


class SignInFirst(LoginRequiredMiddleware):
    """Every page needs a session unless it says otherwise. A fragment asked for by a page whose session has ended makes
    that page reload, which leads to the door and back; the door is never swapped into a corner of the page."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        answer = super().handle_no_permission(request, view_func)
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        return answer


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
