"""Every wire format meets every trouble, over a real socket: each ends as one sentence, nothing crashes or hangs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from providers import adapters, transport
from providers.answers import read_object, shape_of
from providers.base import Completion, ProviderError, Reply
from providers.complete import complete
from providers.models import Call, Connection
from providers.transport import Answer
from providers.wires import WIRES
from tests.support.fake_model import FakeModel
from tests.support.native import NATIVE, Native
from tests.support.raw_server import RawServer, Talk, broken_off, dripping, endless, pausing, silent
from tests.support.services import free_port
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
KEY = "key-of-alice-0123456789"
HTML = "<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


@pytest.fixture(params=NATIVE)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def native(wire: str) -> Native:
    return NATIVE[wire]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, native: Native) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        redirect_preset(monkeypatch, native.preset, server.root_url)
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel, native: Native) -> Connection:
    return connect(alice, fake, preset=native.preset, name="Box", key=KEY)


def ask(connection: Connection) -> Completion:
    return complete(connection, QUESTION, tries=1)


def failure(connection: Connection) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(connection)
    assert caught.value.message.isprintable() and KEY not in caught.value.sentence
    with unscoped("the test reads the ledger"):
        assert Call.objects.latest("started_at").error_type == caught.value.error_type
    return caught.value


def test_success(connection: Connection, fake: FakeModel, native: Native) -> None:
    fake.respond(200, native.answer("- Mira lives in Oslo."))
    said = ask(connection)
    assert (said.text, said.finish_reason, said.reasoning) == ("- Mira lives in Oslo.", "stop", "")
    call = said.call
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens, call.model) == (3, 2, 1, "m")


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "sentence"),
    [
        (401, "key", False, "Box does not accept the key."),
        (402, "payment", False, "Box wants to be paid first."),
        (403, "forbidden", False, "Box refuses this request."),
        (404, "not_found", False, "Box does not know this model or address."),
        (408, "timeout", True, "Box gave up waiting."),
        (413, "context", False, "The text is too long for Box."),
        (422, "request", False, "Box does not accept this request (422)."),
        (429, "rate", True, "Box is asked too often."),
        (500, "server", True, "Box has trouble of its own (500)."),
        (503, "server", True, "Box is overloaded or loading its model."),
        (529, "server", True, "Box has trouble of its own (529)."),
    ],
)
def test_each_status(
    connection: Connection, fake: FakeModel, native: Native, status: int, kind: str, retryable: bool, sentence: str
) -> None:
    fake.respond(status, native.error(status, f"It is so, {KEY}"))
    error = failure(connection)
    assert (error.status, error.error_type, error.retryable) == (status, kind, retryable)
    assert error.message == f"{sentence} It said: It is so, …."


def test_a_gateways_page(connection: Connection, fake: FakeModel) -> None:
    fake.respond(502, HTML)
    error = failure(connection)
    assert error.message == "Box has trouble of its own (502). It said: 502 Bad Gateway."
    assert error.hint == "A gateway in between answered instead of the model’s server; try again in a while."
    fake.respond(200, HTML)
    error = failure(connection)
    assert error.message == "Box sent a web page (“502 Bad Gateway”) instead of an answer."
    assert error.hint == "A gateway in between may have answered; try again in a while."


def test_an_error_object_that_comes_as_success(connection: Connection, fake: FakeModel, native: Native) -> None:
    fake.respond(200, native.error(503, "Upstream died"))
    assert failure(connection).message.endswith("Upstream died.")


@pytest.mark.parametrize("form", ["seconds", "date", "milliseconds", "words", "details", "allowance", "moment"])
def test_each_form_of_a_rate_limit(connection: Connection, fake: FakeModel, native: Native, form: str) -> None:
    said = "Limit reached." if form != "words" else "Limit reached. Please try again in 9m59.5s."
    body = native.error(429, said)
    if form == "details":
        body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "599.5s"}]
    later = format_datetime(timezone.now() + timedelta(seconds=600))
    moment = (timezone.now() + timedelta(seconds=600)).isoformat()
    headers = {
        "seconds": {"Retry-After": "600"},
        "date": {"Retry-After": later},
        "milliseconds": {"retry-after-ms": "599500"},
        "allowance": {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "9m59.5s"},
        "moment": {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": moment},
    }
    fake.respond(429, body, headers=headers.get(form, {}))
    error = failure(connection)
    assert error.error_type == "rate" and error.retry_after is not None and 590 < error.retry_after <= 600
    assert failure(connection).message.startswith("Box asked for a pause; 5") and len(fake.chats) == 1


def test_an_empty_account_is_no_rate_limit(connection: Connection, fake: FakeModel, native: Native) -> None:
    body = native.error(429, "You exceeded your current quota.")
    body["error"]["code"] = "insufficient_quota"
    fake.respond(429, body)
    assert failure(connection).error_type == "payment"


def test_truncated_json(connection: Connection, fake: FakeModel, native: Native) -> None:
    whole = json.dumps(native.answer("- Mira lives in Oslo."))
    for end in (1, len(whole) // 2, len(whole) - 1):
        fake.respond(200, whole[:end], headers={"Content-Type": "application/json"})
        error = failure(connection)
        assert error.message == "Box sent something that is not JSON." and error.retryable


@pytest.mark.parametrize(
    ("talk", "kind", "words"),
    [
        (silent, "timeout", "was silent for"),
        (pausing, "timeout", "was silent for"),
        (endless, "too_large", "The answer is larger than 4 MiB"),
        (dripping, "timeout", "did not finish its answer in time"),
        (broken_off, "protocol", "closed the connection before the answer was complete"),
    ],
)
def test_troubles_of_the_line(
    connection: Connection, native: Native, monkeypatch: pytest.MonkeyPatch, talk: Talk, kind: str, words: str
) -> None:
    monkeypatch.setattr(transport, "IDLE_SECONDS", 0.3)
    monkeypatch.setattr(transport, "TOTAL_SECONDS", 1.0 if talk is dripping else 30.0)
    with RawServer(talk) as server:
        redirect_preset(monkeypatch, native.preset, server.url.removesuffix("/v1"))
        started = time.monotonic()
        error = failure(connection)
        assert time.monotonic() - started < 5
    assert error.error_type == kind and words in error.message


def test_nobody_listens(connection: Connection, native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    redirect_preset(monkeypatch, native.preset, f"http://127.0.0.1:{port}")
    error = failure(connection)
    assert error.message == f"Nothing answers at 127.0.0.1:{port}."
    assert error.hint == "Is the server running, and is it listening on this address?"


def test_an_answer_that_was_cut_by_its_length(connection: Connection, fake: FakeModel, native: Native) -> None:
    fake.respond(200, native.answer("- Mira", "length"))
    assert ask(connection).is_truncated
    fake.respond(200, native.answer("", "length"))
    error = failure(connection)
    assert error.error_type == "reasoning_only"
    assert error.hint.startswith("Raise the longest answer (2,000 tokens or more)")


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("refusal", "forbidden", "Box withheld the answer because of its content rules."),
        ("only_thought", "reasoning_only", "The model used its whole answer for thinking and wrote nothing down."),
        ("tool", "tool", "Box wanted to use a tool instead of answering."),
        ("nothing", "empty", "Box sent an empty answer."),
    ],
)
def test_answers_without_text(
    connection: Connection, fake: FakeModel, native: Native, name: str, kind: str, sentence: str
) -> None:
    fake.respond(200, getattr(native, name))
    error = failure(connection)
    assert (error.error_type, error.message) == (kind, sentence) and error.hint
    assert error.usage.prompt_tokens == 3


def test_surrogates(connection: Connection, fake: FakeModel, native: Native) -> None:
    fake.respond(200, native.answer("- caf\u00e9 \ud83d\ude00 \ud800 \x00 end"))
    assert ask(connection).text == "- café 😀 \ufffd \ufffd end"


@pytest.mark.parametrize("done", ["", "data: [DONE]\n\n"])
def test_a_stream_that_nobody_asked_for(connection: Connection, fake: FakeModel, native: Native, done: str) -> None:
    """Some gateways put a whole answer into one event; test_streams.py has the others."""
    event = native.answer("- Mira")
    fake.respond(200, f"data: {json.dumps(event)}\n\n{done}", headers={"Content-Type": "text/event-stream"})
    assert ask(connection).text == "- Mira"


ODD = (None, True, 0, -1, 1e999, "x", [], [None], ["x"], [[]], {}, {"x": 1}, {"text": 5})


def mutants(value: Any) -> Iterator[Any]:
    """`value` with one of its pieces at a time replaced by something odd, or left out."""
    yield from ODD
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, piece in pairs:
        for odd in mutants(piece):
            yield {**value, key: odd} if isinstance(value, dict) else [*value[:key], odd, *value[key + 1 :]]
        if isinstance(value, dict):
            yield {name: other for name, other in value.items() if name != key}


@pytest.mark.parametrize("name", ["answer", "refusal", "only_thought", "tool"])
def test_no_odd_piece_is_a_crash(wire: str, native: Native, name: str) -> None:
    whole = native.answer("- Mira") if name == "answer" else getattr(native, name)
    read: Callable[..., Reply] = WIRES[wire].read
    count = 0
    for body in mutants(whole):
        count += 1
        answer = Answer(200, {"content-type": "application/json"}, json.dumps(body).encode())
        try:
            with shape_of("Box"):
                reply = read(read_object(answer, name="Box"), name="Box")
            assert isinstance(reply.text, str) and reply.text
        except ProviderError as error:
            assert error.message.isprintable()
    assert count > 50


def test_no_odd_piece_of_an_error_is_a_crash(native: Native) -> None:
    whole = native.error(429, "Try again in 5s.")
    whole["error"] |= {
        "details": [{"retryDelay": "5s"}],
        "metadata": {"raw": "{}", "headers": {"X-RateLimit-Reset": "1"}},
    }
    for body in mutants(whole):
        for status in (200, 400, 429, 503):
            answer = Answer(status, {"content-type": "application/json"}, json.dumps(body).encode())
            with suppress(ProviderError), shape_of("Box"):
                read_object(answer, name="Box")


@pytest.mark.parametrize("odd", [*ODD, {"models": [5, {"name": 5}, {"name": "models/"}]}, {"data": [5, {"id": []}]}])
def test_no_odd_list_of_models_is_a_crash(wire: str, odd: Any) -> None:
    try:
        with shape_of("Box"):
            assert all(row.id and isinstance(row.id, str) for row in WIRES[wire].model_rows(odd))
    except ProviderError as error:
        assert error.error_type == "content_type"


def test_a_model_at_nvidia_whose_terms_were_not_accepted(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeModel() as fake:
        redirect_preset(monkeypatch, "nvidia", fake.root_url)
        row = connect(alice, fake, preset="nvidia", name="NVIDIA", key=KEY)
        fake.respond(404, {"status": 404, "title": "Not Found", "detail": "Not found for account"})
        error = failure(row)
    assert error.message == "NVIDIA does not know this model or address. It said: Not found for account."
    assert error.hint == "Accept the model’s terms at build.nvidia.com, or choose another model."


def test_a_home_computer_may_think_for_long() -> None:
    assert adapters.LOCAL_IDLE_SECONDS > transport.IDLE_SECONDS
