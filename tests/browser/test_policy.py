"""The content security policy holds in a real browser, and the watch over all browser tests would see a breach."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from accounts.models import User
from tests.support.browsing import Watched, signed_in
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BREACHES = {
    "script-src-elem inline": (
        "document.head.append(Object.assign(document.createElement('script'), {text: 'out = 1'}))"
    ),
    "script-src-attr inline": "document.body.insertAdjacentHTML('beforeend', '<b onclick=\"out = 1\">x</b>')",
    "style-src-attr inline": "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')",
    "style-src-elem inline": "document.body.insertAdjacentHTML('beforeend', '<style>b { color: red }</style>')",
    "img-src https://evil.example/x.png": "new Image().src = 'https://evil.example/x.png'",
    "connect-src https://evil.example/": "fetch('https://evil.example/').catch(() => 0)",
    "frame-src https://evil.example": (
        "document.body.append(Object.assign(document.createElement('iframe'), {src: 'https://evil.example'}))"
    ),
}


def test_breaches_are_refused_and_seen(live_server: Any, alice: User) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open("/")
        assert seen.troubles == []
        for breach in BREACHES.values():
            page.evaluate(f"() => {{ {breach}; }}")
        for refused in BREACHES:
            wait_until(partial(is_told, seen, refused))
        assert page.evaluate("'out' in window") is False
        seen.troubles.clear()


def is_told(seen: Watched, refused: str) -> bool:
    seen.page.evaluate("1")  # news of a page arrive while it is talked to
    return any(f"refused: {refused}" in one for one in seen.troubles)
