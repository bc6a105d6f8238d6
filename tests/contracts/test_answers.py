"""What model servers really send, and the one sentence that each failure becomes. Word for word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from providers.base import Completion, ProviderError, Request
from providers.complete import complete
from providers.connecting import listed_models, refresh_listing
from providers.models import Call, Connection
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer, says
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
OK = {"index": 0, "message": {"role": "assistant", "content": "- Mira lives in Oslo."}, "finish_reason": "stop"}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel) -> Connection:
    return connect(alice, fake)


def ask(connection: Connection, request: Request = QUESTION) -> Completion:
    return complete(connection, request)


def failure(connection: Connection) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(connection)
    return caught.value


def last_call() -> Call:
    with unscoped("the test reads the ledger"):
        return Call.objects.latest("started_at")


def test_a_plain_answer_and_its_ledger_row(connection: Connection, fake: FakeModel) -> None:
    said = ask(connection)
    assert "Mira said that I live in Oslo now." in said.text
    assert said.finish_reason == "stop" and not said.is_truncated
    call = last_call()
    assert (call.prompt_tokens, call.completion_tokens) == (said.prompt_tokens, said.completion_tokens)
    assert call.prompt_tokens == 15 and not call.is_estimate
    assert (call.error_type, call.status, call.purpose, call.cost) == ("", 200, "extraction", 0)
    body = fake.chats[0].body
    assert body["model"] == "fake-small" and body["max_tokens"] == 300 and body["stream"] is False
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert "grammar" not in body


def openai(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (openai({"content": "- a"}, "length"), "- a", "length"),
        (openai({"content": [{"type": "text", "text": "- a"}, {"type": "image_url"}]}), "- a", "stop"),
        (openai({"content": "- a", "tool_calls": [{"function": {"name": "x"}}]}), "- a", "stop"),
        ({"choices": [{"message": {"content": None}}, OK]}, "- Mira lives in Oslo.", "stop"),
        ({"choices": [OK, {"message": {"content": "second"}}]}, "- Mira lives in Oslo.", "stop"),
        ({"choices": [{"text": "- from the old wire", "finish_reason": "stop"}]}, "- from the old wire", "stop"),
        (openai({"content": "- a", "reasoning_content": "hm"}, usage=None, error=None), "- a", "stop"),
    ],
)
def test_shapes_of_good_answers(
    connection: Connection, fake: FakeModel, body: dict[str, Any], text: str, finish: str
) -> None:
    fake.respond(200, body)
    said = ask(connection)
    assert (said.text, said.finish_reason) == (text, finish)
    assert last_call().is_estimate


def test_reasoning_stands_apart_and_is_never_the_answer(connection: Connection, fake: FakeModel) -> None:
    fake.respond(200, openai({"content": "<think>her move</think>- a", "reasoning_content": "hm"}))
    said = ask(connection)
    assert (said.text, said.reasoning) == ("- a", "hm\nher move")
    fake.respond(200, openai({"content": "", "reasoning_content": "a long thought"}, "length"))
    error = failure(connection)
    assert error.message == "The model used its whole answer for thinking and wrote nothing down."
    assert error.hint == ("Raise the longest answer (2,000 tokens or more), or choose a model that thinks less.")
    assert last_call().error_type == "reasoning_only"


def test_surrogates_do_not_stop_anything(connection: Connection, fake: FakeModel) -> None:
    raw = '{"choices":[{"message":{"content":"- caf\\u00e9 \\ud83d\\ude00 \\ud800 end"},"finish_reason":"stop"}]}'
    fake.respond(200, raw, headers={"Content-Type": "application/json"})
    said = ask(connection, Request("", "half \ud83d", 10))
    assert said.text == "- café 😀 \ufffd end"
    assert fake.chats[0].body["messages"][0]["content"] == "half \ufffd"


ODD = (
    "m\\u0000\\ud800",
    "5",
    "null",
    "[[]]",
    "{}",
    '[{"message": 5}]',
    '[{"message": {"content": [5]}}]',
    "[5]",
    "1e999",
)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("field", ["choices", "model", "usage", "error", "data", "content"])
@pytest.mark.parametrize("stream", [False, True])
def test_no_shape_of_an_answer_is_a_crash(
    connection: Connection, fake: FakeModel, field: str, odd: str, stream: bool
) -> None:
    value = odd if odd[0] in "[{5n1" else f'"{odd}"'
    body = f'{{"choices": [{json.dumps(OK)}], "{field}": {value}}}'
    kind = {"Content-Type": "text/event-stream" if stream else "application/json"}
    for _n in range(8):
        fake.respond(200, f"data: {body}\n\n" if stream else body, headers=kind)
    try:
        ask(connection)
    except ProviderError as error:
        assert error.message.isprintable()
    assert "\x00" not in last_call().model and last_call().model.isprintable()


@pytest.mark.parametrize("status", [200, 400])
def test_deep_nesting_is_unreadable_and_no_crash(connection: Connection, fake: FakeModel, status: int) -> None:
    for deep in ("[" * 900 + "]" * 900, '{"error":' * 900 + "1" + "}" * 900, "[" * 100_000):
        for _n in range(4):
            fake.respond(status, f'{{"error": {deep}}}', headers={"Content-Type": "application/json"})
        failure(connection)
        while fake.next_scripted():
            pass


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        ('{"data":[{"id":"a\\u0000\\ud83d"},{"id":5},7,{}]}', ["a\ufffd\ufffd"]),
        ('{"data":{"id":5}}', ["id"]),
        ('{"models":[[]],"data":0}', []),
    ],
)
def test_odd_names_in_a_list_of_models_can_be_stored(alice: User, listing: str, names: list[str]) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(listing)}\r\n\r\n"
    with RawServer(says((head + listing).encode())) as server:
        row = make_connection(alice, preset="local", base_url=server.url)
        assert refresh_listing(row) == names
    assert listed_models(row) == names


def test_a_key_that_the_server_repeats_is_cut_out(alice: User, fake: FakeModel) -> None:
    connection = connect(alice, fake, key="canaryword0123456789", extra_headers={"X-Team": "canaryteam42"})
    said = "Incorrect API key provided: canaryword0123456789 of canaryteam42."
    fake.respond(401, {"error": {"message": said}})
    error = failure(connection)
    assert error.message == ("Kitchen box does not accept the key. It said: Incorrect API key provided: … of ….")
    fake.respond(200, {"error": {"message": said.replace(" of canaryteam42", "")}})
    assert "canary" not in failure(connection).message


def sse(*events: Any, done: bool = True) -> str:
    lines = "".join(f"data: {json.dumps(e) if not isinstance(e, str) else e}\n\n" for e in events)
    return lines + ("data: [DONE]\n\n" if done else "")


def delta(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (sse(delta("- a "), delta("b", "stop")), "- a b", "stop"),
        (sse(delta("- a "), delta("b", "stop"), done=False), "- a b", "stop"),
        (sse(delta("- a "), delta("b")), "- a b", "stop"),
        (sse(delta("- a "), '{"choices":[{"delta":{"content":"lo', done=False), "- a", "length"),
        (": comment\n\nevent: message\n" + sse(delta("- a", "stop")), "- a", "stop"),
    ],
)
def test_an_event_stream_although_not_asked_for(
    connection: Connection, fake: FakeModel, body: str, text: str, finish: str
) -> None:
    fake.respond(200, body, headers={"Content-Type": "text/event-stream"})
    said = ask(connection)
    assert (said.text, said.finish_reason) == (text, finish)


def test_a_stream_with_an_error_inside(connection: Connection, fake: FakeModel) -> None:
    body = sse(delta("- a"), {"error": {"message": "model crashed"}})
    fake.respond(200, body, headers={"Content-Type": "text/event-stream"})
    assert failure(connection).message == "Kitchen box answered with an error: model crashed."


HTML = "<!doctype html><html><head><title>502 Bad\n Gateway</title></head><body>nginx secret-host</body></html>"
RATE = {"error": {"message": "Rate limit reached"}}


@pytest.mark.parametrize(
    ("status", "body", "message", "hint", "kind", "calls"),
    [
        (
            401,
            {"error": {"message": "Incorrect API key provided: sk-proj-abcdefghijklmno"}},
            "Kitchen box does not accept the key. It said: Incorrect API key provided: ….",
            "Enter the key again: Settings, Models.",
            "key",
            1,
        ),
        (
            402,
            {"error": "Insufficient credits"},
            "Kitchen box wants to be paid first. It said: Insufficient credits.",
            "Add credit at the provider, or choose another model.",
            "payment",
            1,
        ),
        (
            403,
            {"detail": "No access to model"},
            "Kitchen box refuses this request. It said: No access to model.",
            "The key may not use this model, or the provider does not serve this text.",
            "forbidden",
            1,
        ),
        (
            404,
            {"error": {"message": "model 'x' not found"}},
            "Kitchen box does not know this model or address. It said: model 'x' not found.",
            "Check the model and the address.",
            "not_found",
            1,
        ),
        (
            404,
            "nothing here",
            "Kitchen box does not know this model or address.",
            "Check the model and the address.",
            "not_found",
            1,
        ),
        (408, "", "Kitchen box gave up waiting.", "Try again, or choose a faster model.", "timeout", 4),
        (
            413,
            "",
            "The text is too long for Kitchen box.",
            "Make the chunks smaller, or raise the context window.",
            "context",
            1,
        ),
        (
            400,
            {"error": {"message": "This model's maximum context length is 4096 tokens"}},
            "The text is too long for Kitchen box. It said: This model's maximum context length is 4096 tokens.",
            "Make the chunks smaller, or raise the context window.",
            "context",
            1,
        ),
        (
            400,
            {"message": "top_k is not supported"},
            "Kitchen box does not accept this request (400). It said: top_k is not supported.",
            "",
            "request",
            1,
        ),
        (
            500,
            {"error": {"message": "CUDA out of memory"}},
            "Kitchen box has trouble of its own (500). It said: CUDA out of memory.",
            "Try again in a while.",
            "server",
            4,
        ),
        (
            502,
            HTML,
            "Kitchen box has trouble of its own (502).",
            "A gateway in between answered instead of the model’s server; try again in a while.",
            "server",
            4,
        ),
        (
            503,
            "",
            "Kitchen box is overloaded or loading its model.",
            "Try again in a while.",
            "server",
            4,
        ),
        (307, "", "Kitchen box points to another address (307).", "Enter the final address.", "redirect", 1),
        (
            200,
            HTML,
            "Kitchen box sent a web page instead of an answer.",
            "Check the address: it usually ends in /v1.",
            "html",
            4,
        ),
        (
            200,
            {"error": {"message": "Upstream died"}},
            "Kitchen box answered with an error: Upstream died.",
            "",
            "server",
            1,
        ),
        (
            200,
            {"error": {"code": 401, "message": "bad key"}},
            "Kitchen box does not accept the key. It said: bad key.",
            "Enter the key again: Settings, Models.",
            "key",
            1,
        ),
        (200, "", "Kitchen box sent an empty answer.", "It may be overloaded; try again.", "empty", 4),
        (
            200,
            {"choices": []},
            "Kitchen box sent an empty answer.",
            "It may be overloaded; try again.",
            "empty",
            4,
        ),
        (
            200,
            openai({"content": None}),
            "Kitchen box sent an empty answer.",
            "It may be overloaded; try again.",
            "empty",
            4,
        ),
        (
            200,
            openai({"content": ""}, "content_filter"),
            "Kitchen box withheld the answer because of its content rules.",
            "Choose another model for this chat.",
            "forbidden",
            1,
        ),
        (
            200,
            "plain words",
            "Kitchen box sent something that is not JSON.",
            "Check the address: it usually ends in /v1.",
            "content_type",
            4,
        ),
        (
            200,
            [1, 2],
            "Kitchen box sent something that is not JSON.",
            "Check the address: it usually ends in /v1.",
            "content_type",
            4,
        ),
    ],
)
def test_each_failure_is_one_sentence(
    connection: Connection,
    fake: FakeModel,
    status: int,
    body: Any,
    message: str,
    hint: str,
    kind: str,
    calls: int,
) -> None:
    headers = {"Content-Type": "text/plain"} if body == "plain words" else {}
    fake.respond(status, body, headers={**headers, "Location": "http://127.0.0.1:1/"}, times=10)
    error = failure(connection)
    assert (error.message, error.hint, error.error_type) == (message, hint, kind)
    assert len(fake.chats) == calls
    call = last_call()
    assert (call.error_type, call.retries) == (kind, calls - 1)


def test_a_hosted_provider_may_be_quoted(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    from providers import adapters

    monkeypatch.setattr(adapters.Line, "is_local", False)
    connection = connect(alice, fake)
    fake.respond(200, HTML, times=4)
    assert failure(connection).message == "Kitchen box sent a web page (“502 Bad Gateway”) instead of an answer."
    nested = {
        "error": {
            "message": "Provider returned error",
            "code": 503,
            "metadata": {"provider_name": "DeepInfra", "raw": '{"error":{"message":"no capacity"}}'},
        }
    }
    fake.respond(200, nested, times=4)
    assert failure(connection).message == (
        "Kitchen box is overloaded or loading its model. It said: DeepInfra: no capacity (Provider returned error)."
    )


def test_a_short_rate_limit_is_waited_for(connection: Connection, fake: FakeModel) -> None:
    fake.respond(429, RATE, headers={"Retry-After": "0"})
    notes: list[str] = []
    said = complete(connection, QUESTION, note=notes.append)
    assert said.call.retries == 1
    assert notes == ["Kitchen box is asked too often. It said: Rate limit reached. Trying again in 0 s."]


def test_a_date_five_seconds_ahead_is_waited_for(connection: Connection, fake: FakeModel) -> None:
    date = format_datetime(timezone.now() + timedelta(seconds=5))
    fake.respond(429, RATE, headers={"Retry-After": date})
    came: list[datetime] = []
    fake.rule = lambda prompt: came.append(timezone.now())  # type: ignore[func-returns-value]
    assert ask(connection).call.retries == 1
    assert len(came) == 2 and came[1] >= parsedate_to_datetime(date)


@pytest.mark.parametrize("as_date", [False, True])
def test_a_long_rate_limit_is_handed_to_the_job(connection: Connection, fake: FakeModel, as_date: bool) -> None:
    later = timezone.now() + timedelta(seconds=600)
    fake.respond(429, RATE, headers={"Retry-After": format_datetime(later) if as_date else "600"})
    error = failure(connection)
    assert error.message == "Kitchen box is asked too often. It said: Rate limit reached."
    assert error.hint == "CharMem waits and goes on by itself."
    assert error.retryable and error.retry_after is not None and 590 < error.retry_after <= 600
    again = failure(connection)
    assert again.message.startswith("Kitchen box asked for a pause; 5")
    assert again.retry_after is not None and len(fake.chats) == 1


def test_trouble_that_passes_is_tried_again_and_counted(connection: Connection, fake: FakeModel) -> None:
    fake.respond(500, "")
    fake.respond(200, "")
    said = ask(connection)
    assert said.text and said.call.retries == 2 and len(fake.chats) == 3


def test_tokens_of_useless_answers_are_in_the_ledger(connection: Connection, fake: FakeModel) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    fake.respond(200, openai({"content": ""}, usage=usage), times=4)
    failure(connection)
    call = last_call()
    assert (call.prompt_tokens, call.completion_tokens) == (400, 28)


def test_anthropic_speaks_its_own_wire(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    redirect_preset(monkeypatch, "anthropic", fake.root_url)
    connection = connect(alice, fake, preset="anthropic", key="sk-ant-0123456789", name="Anthropic")
    said = ask(connection)
    sent = fake.chats[0]
    assert sent.path == "/v1/messages" and sent.headers["x-api-key"] == "sk-ant-0123456789"
    assert sent.headers["anthropic-version"] == "2023-06-01" and "Authorization" not in sent.headers
    assert sent.body["system"] == "You list memories." and [m["role"] for m in sent.body["messages"]] == ["user"]
    assert said.prompt_tokens == 15 and "Mira said" in said.text
    fake.respond(
        200,
        {
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "- a"},
                {"type": "tool_use", "name": "x", "input": {}},
                {"type": "text", "text": " b"},
            ],
            "stop_reason": "max_tokens",
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 3},
        },
    )
    said = ask(connection)
    assert (said.text, said.reasoning, said.finish_reason) == ("- a b", "hm", "length")
    assert said.is_truncated and said.prompt_tokens == 95 and said.call.cached_tokens == 90
    fake.respond(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, times=4)
    assert failure(connection).message == "Anthropic has trouble of its own (529). It said: Overloaded."
    fake.respond(400, {"type": "error", "error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    assert failure(connection).message == (
        "The text is too long for Anthropic. It said: prompt is too long: 210000 tokens > 200000 maximum."
    )


def test_missing_pieces_are_said_before_anything_is_sent(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    redirect_preset(monkeypatch, "anthropic", fake.root_url)
    error = failure(connect(alice, fake, preset="anthropic", name="Anthropic"))
    assert (error.message, error.hint) == ("Anthropic needs a key.", "Enter it in Settings, Models.")
    error = failure(connect(alice, fake, model=""))
    assert error.message == "No model is chosen for Kitchen box."
    assert fake.requests == []


def test_neither_keys_nor_texts_reach_logs_errors_or_the_ledger(
    alice: User, fake: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    connection = connect(alice, fake, key="canary-key-0123456789")
    question = Request("", "Mira: the canary sentence is said here.", 50)
    ask(connection, question)
    fake.respond(400, {"error": {"message": "bad header Authorization: Bearer canary-key-0123456789"}})
    fake.respond(500, "the canary page", times=4)
    errors = []
    for _n in range(2):
        with pytest.raises(ProviderError) as caught:
            ask(connection, question)
        errors.append(caught.value.sentence)
    with unscoped("the test reads the ledger"):
        rows = str(list(Call.objects.values()))
    for place in (caplog.text, str(errors), rows):
        assert "canary" not in place
    assert errors[0].startswith("Kitchen box does not accept this request (400). It said: bad header Authorization: …")
