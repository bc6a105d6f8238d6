"""A page part that is drawn again by polling, with as little swapping as possible."""

from __future__ import annotations

import hashlib
from functools import cached_property

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag


def short_hash(*things: object) -> str:
    """16 hex digits that change when any of `things` does."""
    return hashlib.sha256(repr(things).encode()).hexdigest()[:16]


class LivePage:
    """A page part that asks for itself again, at a pace the server sets (stack-notes §6).

    The browser sends back `seen`. Nothing changed: 204, nothing is drawn. Same `shape`: only the moving parts are
    swapped, so that buttons stay under the pointer. Another shape: the whole fragment, with its new pace.
    """

    template = ""  # the fragment
    moving = ""  # its moving parts, swapped out of band
    name = "page"

    @cached_property
    def pace(self) -> int:
        """Seconds until the next look, 0 for never."""
        raise NotImplementedError

    @cached_property
    def shape(self) -> str:
        raise NotImplementedError

    @cached_property
    def seen(self) -> str:
        raise NotImplementedError

    def answer(self, request: HttpRequest) -> HttpResponse:
        """What a look of the browser gets."""
        old = request.GET.get("seen", "")
        if old == self.seen:
            return HttpResponse(status=204)
        unchanged = get_conditional_response(request, etag=quote_etag(self.seen))
        if unchanged is not None:
            return unchanged
        is_same = old.split(".")[0] == self.shape
        response = render(request, self.moving if is_same else self.template, {self.name: self, "swap": is_same})
        if is_same:
            response["HX-Reswap"] = "none"
        response["ETag"] = quote_etag(self.seen)
        response["Cache-Control"] = "private, no-cache"
        return response
