"""Security headers of every answer (stack-notes §9.6), and a bound on every request.

One constant policy, no nonce, no inline script or style.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
)
PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=()"


def security_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Add the content security and permission policies to each response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", CSP)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware


def bounded_requests(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Turn away bodies that no page of ours sends, before a byte is read (files would fill the disk, even those of
    visitors), NUL in a query, which PostgreSQL does not take, and words in another encoding than pages have (some
    encodings bring characters that no database holds)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > _most(request, int(length) if length.isdecimal() else 0):
            return _refused(413, _("This is more than CharMem takes. Nothing was changed."))
        if "%00" in request.META.get("QUERY_STRING", ""):
            return _refused(400, _("This address cannot be right."))
        if (request.encoding or "utf-8").lower() not in ("utf-8", "utf8"):
            return _refused(415, _("CharMem reads UTF-8 only. Nothing was changed."))
        return get_response(request)

    return middleware


def _most(request: HttpRequest, wanted: int) -> int:
    """Bytes that this request may have: files are taken on the import pages, from people who are signed in."""
    usual: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if wanted <= usual or not request.path.endswith("/import/"):
        return usual
    session = import_module(settings.SESSION_ENGINE).SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    most: int = settings.UPLOAD_MAX_SIZE
    return most if SESSION_KEY in session else usual


def _refused(status: int, text: str) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
