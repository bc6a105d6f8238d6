"""What the frame around every page shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from charmem_site.frame import Frame


def frame(request: HttpRequest) -> dict[str, Any]:
    """`frame` for templates/base.html; a page that does not show it pays nothing."""
    return {"frame": Frame(request)}
