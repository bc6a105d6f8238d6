"""What the frame around every page shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, Any]:
    """Values for templates/base.html."""
    return {}
