"""What Google's servers send, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from providers import prices
from providers.base import Completion, ProviderError, Request
from providers.complete import complete
from providers.connecting import refresh_listing
from providers.models import Connection
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer, says
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
KEY = "AIza-key-of-alice-0123456789"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        redirect_preset(monkeypatch, "gemini", server.root_url)
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel) -> Connection:
    return connect(alice, fake, preset="gemini", name="Gemini", key=KEY)


def ask(connection: Connection, request: Request = QUESTION) -> Completion:
    return complete(connection, request)


def failure(connection: Connection) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(connection)
    return caught.value


def candidate(*parts: Any, finish: str = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "finishReason": finish}], **more}


def test_an_answer_with_thoughts_and_its_price(connection: Connection, fake: FakeModel) -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 20,
        "totalTokenCount": 127,
    }
    parts = ({"text": "She moved.", "thought": True}, {"text": "- Mira "}, {"text": "lives in Oslo."})
    fake.respond(200, candidate(*parts, usageMetadata=usage, modelVersion="gemini-3-flash"))
    said = ask(connection)
    assert (said.text, said.reasoning, said.finish_reason) == ("- Mira lives in Oslo.", "She moved.", "stop")
    assert (said.prompt_tokens, said.completion_tokens, said.model) == (100, 27, "gemini-3-flash")
    assert said.call.cached_tokens == 60 and not said.call.is_estimate


def test_the_next_candidate_is_taken_when_the_first_is_empty(connection: Connection, fake: FakeModel) -> None:
    first = {"content": {}, "finishReason": "STOP"}
    fake.respond(200, {"candidates": [first, *candidate({"text": "- b"})["candidates"]]})
    assert ask(connection).text == "- b"


def test_a_cut_answer_is_marked(connection: Connection, fake: FakeModel) -> None:
    fake.respond(200, candidate({"text": "- a"}, finish="MAX_TOKENS"))
    assert ask(connection).is_truncated


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "forbidden"),
        ({"candidates": [{"finishReason": "SAFETY", "index": 0}]}, "forbidden"),
        (candidate({"text": "hm", "thought": True}, finish="RECITATION"), "forbidden"),
        ({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}, "reasoning_only"),
        (candidate({"text": "hm", "thought": True}), "reasoning_only"),
        (candidate({"functionCall": {"name": "x", "args": {}}}), "tool"),
        (candidate({"text": ""}, finish="MALFORMED_FUNCTION_CALL"), "tool"),
        ({"candidates": []}, "empty"),
        ({}, "empty"),
        ({"promptFeedback": {}}, "empty"),
        ({"candidates": {"content": 5}}, "empty"),
        ({"candidates": [{"content": {"parts": [{"text": 5}]}}]}, "empty"),
        ({"candidates": [{"content": {"parts": 5}}]}, "content_type"),
        ({"candidates": [{"content": "text"}]}, "content_type"),
        ({"promptFeedback": [1]}, "content_type"),
    ],
)
def test_answers_without_text(connection: Connection, fake: FakeModel, body: Any, kind: str) -> None:
    fake.respond(200, body, times=4)
    error = failure(connection)
    assert error.error_type == kind and error.hint and error.message.isprintable()


def test_thoughts_are_paid_for_although_nothing_was_said(connection: Connection, fake: FakeModel) -> None:
    usage = {"promptTokenCount": 9, "thoughtsTokenCount": 300}
    fake.respond(200, candidate({"text": "hm", "thought": True}, finish="MAX_TOKENS", usageMetadata=usage))
    error = failure(connection)
    assert (error.usage.prompt_tokens, error.usage.completion_tokens) == (9, 300)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-flash", "/v1beta/models/gemini-3-flash:generateContent"),
        ("models/gemini-3-flash", "/v1beta/models/gemini-3-flash:generateContent"),
        ("tunedModels/mine-1", "/v1beta/tunedModels/mine-1:generateContent"),
        ("../x?key=a#b", "/v1beta/models/..%2Fx%3Fkey%3Da%23b:generateContent"),
    ],
)
def test_the_model_stands_in_the_address(connection: Connection, fake: FakeModel, model: str, path: str) -> None:
    connection.model = model
    ask(connection)
    assert (fake.chats[0].path, fake.chats[0].query) == (path, "")


def test_only_models_that_write_are_listed(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = (
        b'{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"],"inputTokenLimit":1000},'
        b'{"name":"models/embedder","supportedGenerationMethods":["embedContent"]},{"name":"models/b"},{"name":5},7,'
        b'{"name":"models/a"},{"name":"models/"}]}'
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(listing)
    with RawServer(says(head + listing)) as server:
        redirect_preset(monkeypatch, "gemini", server.url.removesuffix("/v1"))
        assert refresh_listing(connection) == ["a", "b"]
    assert [row.context for row in prices.listing(connection)] == [1000, None]


def test_words_of_its_errors(connection: Connection, fake: FakeModel) -> None:
    def error(code: int, status: str, message: str) -> dict[str, Any]:
        return {"error": {"code": code, "message": message, "status": status}}

    fake.respond(404, error(404, "NOT_FOUND", "models/x is not found for API version v1beta."))
    assert failure(connection).message == (
        "Gemini does not know this model or address. It said: models/x is not found for API version v1beta."
    )
    fake.respond(503, error(503, "UNAVAILABLE", "The model is overloaded."), times=4)
    assert failure(connection).message == (
        "Gemini is overloaded or loading its model. It said: The model is overloaded."
    )
    fake.respond(400, error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."))
    wrong = failure(connection)
    assert (wrong.error_type, wrong.hint) == ("key", "Enter the key again: Settings, Models.")
    too_long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    fake.respond(400, error(400, "INVALID_ARGUMENT", too_long))
    assert failure(connection).error_type == "context"
