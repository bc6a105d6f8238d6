"""The canary of a single call: whatever a server does with the key and the question, they are in no error, traceback,
log line or row of the ledger."""

from __future__ import annotations

import traceback

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from providers import transport
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.models import Call, Connection
from tests.support.native import NATIVE
from tests.support.parrot import ENDINGS, Parrot
from tests.support.wire import connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
KEY = "kq7-canary-0123456789abcdef"
TEAM = "canaryteam-4711"
RULES = "Speak as the sulphurcockatoo does."
STORY = "Mira: The zephyrmarigold stands behind the third door on the left, and nobody knows of it."
WORDS = ("kq7-canary", "canaryteam", "sulphurcockatoo", "zephyrmarigold")


def sung(text: str) -> list[str]:
    """Where a word of the canary stands in a text, with what is around it."""
    return [text[max(0, at - 200) : at + 60] for word in WORDS if (at := text.lower().find(word)) >= 0]


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])
def test_no_way_to_fail_tells_the_key_or_the_question(
    alice: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wire: str, how: str
) -> None:
    caplog.set_level(1)
    no_pauses(monkeypatch)
    monkeypatch.setattr(transport, "IDLE_SECONDS", 0.2)
    request = Request(RULES, STORY, 300)
    with Parrot(wire, how) as parrot:
        redirect_preset(monkeypatch, NATIVE[wire].preset, parrot.url.removesuffix("/v1"))
        row = connect(alice, parrot, preset=NATIVE[wire].preset, key=KEY, extra_headers={"X-Team": TEAM})
        with pytest.raises(ProviderError) as caught:
            complete(row, request)
        assert len(sung(parrot.echo)) == len(WORDS), "the server was told all of it"
    error = caught.value
    written = "".join(traceback.format_exception(error))
    assert error.message in written
    with unscoped("the canary is looked for"):
        rows = [*Call.objects.values(), *Connection.objects.values("learned", "down_reason", "test_result", "model")]
    assert sung(f"{written} {error!r} {vars(error)} {error.sentence} {rows} {caplog.text}") == []
