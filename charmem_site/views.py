"""Pages that belong to the whole installation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form came from a page that is too old: say so instead of a bare 403."""
    return render(request, "csrf_failure.html", status=403)
