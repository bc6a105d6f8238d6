"""Parts of a page that ask again and again: nothing is sent while nothing changed, so focus and reading stay put."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

PLACEHOLDER = "seen-goes-here"
TOKEN = re.compile(r'<input type="hidden" name="csrfmiddlewaretoken"[^>]*>')


def polled(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The fragment, or 204 when it is what the page says it has seen.

    The template puts `{{ seen }}` into its own polling address as the parameter `seen`.
    """
    html = render_to_string(template, {**context, "seen": PLACEHOLDER}, request)
    digest = hashlib.sha256(TOKEN.sub("", html).encode()).hexdigest()[:16]
    if digest == request.GET.get("seen"):
        return HttpResponse(status=204)
    return HttpResponse(html.replace(PLACEHOLDER, digest))
