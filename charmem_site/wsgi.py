"""The WSGI callable that granian serves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "charmem_site.settings")
REFUSED_LATER = "text/plain; charset=latin-1"
_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, which decodes the query with the charset of the body while it makes the request, before any middleware:
    a name that is no text encoding would end there. It gets one that charmem_site/middleware.py turns away (415)."""
    if not _is_utf8(environ.get("CONTENT_TYPE", "")):
        environ = {**environ, "CONTENT_TYPE": REFUSED_LATER}
    answer: Iterable[bytes] = _django(environ, start_response)
    return answer


def _is_utf8(content_type: str) -> bool:
    """Whether the header says UTF-8, or nothing, about the encoding; False also when it cannot be read."""
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "")
    except (ValueError, LookupError):
        return False
    return charset.lower() in ("", "utf-8", "utf8")
