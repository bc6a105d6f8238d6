"""Pages that belong to the whole installation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The moving parts of the top line; paced by what runs (stack-notes §6)."""
    return render(request, "frame/live.html")


@require_safe
def more(request: HttpRequest) -> HttpResponse:
    """Everything that the bar on a phone has no room for."""
    return render(request, "frame/more.html")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form came from a page that is too old: say so instead of a bare 403."""
    return render(request, "csrf_failure.html", status=403)
