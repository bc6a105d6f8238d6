"""What people add to requests: it is sent, and it replaces nothing that is CharMem's, on any wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from providers.complete import complete
from providers.models import Connection
from tests.support.fake_model import FakeModel, Recorded
from tests.support.raw_server import RawServer
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
KEY = "secret-key-of-alice-12345"
EVIL_BODY: dict[str, Any] = {
    "model": "evil",
    "messages": [],
    "system": "evil",
    "prompt": "evil",
    "max_tokens": 9,
    "max_completion_tokens": 9,
    "max_output_tokens": 9,
    "stream": True,
    "n": 8,
    "tools": ["evil"],
    "functions": ["evil"],
    "contents": [],
    "systemInstruction": "evil",
    "system_instruction": "evil",
    "generation_config": {"max_output_tokens": 9},
    "cachedContent": "evil",
    "generationConfig": {"maxOutputTokens": 9, "max_output_tokens": 9, "candidateCount": 8, "topK": 40},
    "reasoning_effort": "low",
}
EVIL_HEADERS = {
    "X-Team": "home",
    "Authorization": "evil",
    "AUTHORIZATION": "evil",
    "X-Api-Key": "evil",
    "X-Goog-Api-Key": "evil",
    "Proxy-Authorization": "evil",
    "Host": "evil",
    "Cookie": "evil",
    "Content-Length": "0",
    "Transfer-Encoding": "chunked",
    "Connection": "evil",
    "Content-Type": "text/evil",
    "Accept-Encoding": "evil",
    "X-Bad": "a\r\nEvil: 1",
    "X-Bad\r\nEvil": "1",
    "X Bad": "evil",
    "X-Odd": "é evil",
    "X-Number": 5,
    "": "evil",
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        yield server


def sent_by(row: Connection, fake: FakeModel) -> Recorded:
    complete(row, QUESTION)
    return fake.chats[0]


def connection(alice: User, fake: FakeModel, preset: str) -> Connection:
    return connect(alice, fake, preset=preset, key=KEY, extra_body=EVIL_BODY, extra_headers=EVIL_HEADERS)


@pytest.mark.parametrize(
    ("preset", "header"),
    [("openai", "Authorization"), ("local", "Authorization"), ("anthropic", "x-api-key"), ("gemini", "x-goog-api-key")],
)
def test_headers_smuggle_nothing(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, preset: str, header: str
) -> None:
    redirect_preset(monkeypatch, preset, fake.root_url)
    sent = sent_by(connection(alice, fake, preset), fake)
    assert sent.headers["X-Team"] == "home" and sent.headers["Host"] == f"127.0.0.1:{fake.port}"
    assert sent.headers[header] in (KEY, f"Bearer {KEY}") and sent.headers["Content-Type"] == "application/json"
    assert "evil" not in str(sent.headers).lower() and "X-Number" not in sent.headers


def test_a_header_is_sent_once_in_whatever_case_it_is_written(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []

    def talk(connection: Any, closing: Any) -> None:
        raise OSError

    class Listening(RawServer):
        def _serve(self, connection: Any) -> None:
            with connection:
                heard.append(connection.recv(65536))

    typed = {"Anthropic-Version": "2099-01-01", "X-Team": "home", "x-team": "work"}
    with Listening(talk) as server:
        redirect_preset(monkeypatch, "anthropic", server.url.removesuffix("/v1"))
        row = connect(alice, fake, preset="anthropic", key=KEY, extra_headers=typed)
        with pytest.raises(Exception, match="closed the connection"):
            complete(row, QUESTION, tries=1)
    lines = heard[0].partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")[1:]
    names = Counter(line.partition(":")[0] for line in lines)
    assert max(names.values()) == 1
    assert "anthropic-version: 2099-01-01" in lines and "x-team: work" in lines


def test_openais_body(alice: User, fake: FakeModel) -> None:
    body = sent_by(connection(alice, fake, "local"), fake).body
    assert body.pop("generationConfig") == {"topK": 40} and body.pop("reasoning_effort") == "low"
    assert len(body.pop("messages")) == 2
    assert body == {"model": "fake-small", "max_tokens": 300, "temperature": 0.3, "stream": False}


def test_anthropics_body(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    redirect_preset(monkeypatch, "anthropic", fake.root_url)
    body = sent_by(connection(alice, fake, "anthropic"), fake).body
    assert body["system"] == QUESTION.system and len(body["messages"]) == 1 and body["max_tokens"] == 300
    assert "evil" not in str(body) and "n" not in body


def test_geminis_body(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    redirect_preset(monkeypatch, "gemini", fake.root_url)
    body = sent_by(connection(alice, fake, "gemini"), fake).body
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": QUESTION.user}]}],
        "systemInstruction": {"parts": [{"text": QUESTION.system}]},
        "generationConfig": {"topK": 40, "maxOutputTokens": 300, "temperature": 0.3},
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize("odd", [[1], "text", 5, None])
def test_odd_extras_from_an_old_row_are_left_out(alice: User, fake: FakeModel, odd: Any) -> None:
    row = connect(alice, fake, extra_body={"generationConfig": odd})
    row.extra_headers = odd
    assert "generationConfig" not in sent_by(row, fake).body
