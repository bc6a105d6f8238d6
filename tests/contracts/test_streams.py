"""Streams that nobody asked for, in each wire format: whole, cut, with odd pieces, with trouble in the middle."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from providers.answers import read_object, shape_of
from providers.base import Completion, ProviderError
from providers.complete import complete
from providers.models import Call, Connection
from providers.transport import Answer
from providers.wires import WIRES
from tests.contracts.test_wires import mutants
from tests.support.fake_model import FakeModel
from tests.support.native import NATIVE
from tests.support.native_streams import STREAMS, Write, gemini_events, lines
from tests.support.raw_server import RawServer
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
PIECES = ("- Mira lives", " in Oslo.\u2028- Tom ", "\x85 café 😀")
WHOLE = "- Mira lives in Oslo.\u2028- Tom \x85 café 😀"
EVENTS = {"Content-Type": "text/event-stream"}


@pytest.fixture(params=STREAMS)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(wire: str) -> Write:
    return STREAMS[wire]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, wire: str) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        redirect_preset(monkeypatch, NATIVE[wire].preset, server.root_url)
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel, wire: str) -> Connection:
    return connect(alice, fake, preset=NATIVE[wire].preset, name="Box", key="key-of-alice-0123456789")


def ask(connection: Connection) -> Completion:
    return complete(connection, QUESTION, tries=1)


@pytest.mark.parametrize(
    ("kind", "end"),
    [("text/event-stream", "\n"), ("text/event-stream; charset=utf-8", "\r\n"), ("application/json", "\n"), ("", "\r")],
)
def test_a_whole_stream_is_one_answer(
    connection: Connection, fake: FakeModel, write: Write, kind: str, end: str
) -> None:
    body = ": comment\n\n" + write(*PIECES, thought="Hm, Oslo.")
    fake.respond(200, body.replace("\n", end), headers={"Content-Type": kind})
    said = ask(connection)
    assert (said.text, said.reasoning, said.finish_reason) == (WHOLE, "Hm, Oslo.", "stop")
    assert (said.prompt_tokens, said.completion_tokens, said.model) == (3, 2, "m")
    assert not said.call.is_estimate


def test_texts_that_hold_line_ends_of_unicode_stay_whole(connection: Connection, fake: FakeModel, write: Write) -> None:
    plain = "\n".join(
        f"data: {json.dumps(json.loads(line[6:]), ensure_ascii=False)}" if line.startswith("data: {") else line
        for line in write(*PIECES).split("\n")
    )
    assert "\u2028" in plain
    fake.respond(200, plain, headers=EVENTS)
    assert ask(connection).text == WHOLE


def test_a_stream_that_was_cut_is_an_answer_that_was_cut(connection: Connection, fake: FakeModel, write: Write) -> None:
    whole = write("- Mira lives", " in Oslo.")
    fake.respond(200, whole[: whole.index(" in Oslo.") + 4], headers=EVENTS)
    said = ask(connection)
    assert (said.text, said.is_truncated) == ("- Mira lives", True)
    fake.respond(200, write("- Mira", finish="length"), headers=EVENTS)
    assert ask(connection).is_truncated


def test_a_stream_without_words_says_why(connection: Connection, fake: FakeModel, write: Write) -> None:
    for body, kind in ((write(finish="length", thought="Hm."), "reasoning_only"), (write(), "empty")):
        fake.respond(200, body, headers=EVENTS)
        with pytest.raises(ProviderError) as caught:
            ask(connection)
        assert caught.value.error_type == kind
    with unscoped("the test reads the ledger"):
        assert Call.objects.latest("started_at").prompt_tokens == 3


def test_trouble_in_the_middle_of_a_stream(connection: Connection, fake: FakeModel, write: Write, wire: str) -> None:
    error = NATIVE[wire].error(503, "Upstream died")
    if wire == "anthropic":
        error["error"]["type"] = "overloaded_error"
    fake.respond(200, write("- Mira").replace("data: [DONE]\n\n", "") + lines([error]), headers=EVENTS)
    with pytest.raises(ProviderError, match="Upstream died") as caught:
        ask(connection)
    assert caught.value.retryable is (wire != "openai")  # OpenAI's form has no status here


def test_several_choices_are_not_mixed(connection: Connection, fake: FakeModel, wire: str) -> None:
    if wire == "anthropic":
        pytest.skip("this form knows no choices")
    texts = [("- Mira ", 0), ("- Tom ", 1), ("is here.", 0), ("is there.", 1)]
    if wire == "openai":
        events = [{"choices": [{"index": n, "delta": {"content": text}}]} for text, n in texts]
    else:
        events = [{"candidates": [{"index": n, "content": {"parts": [{"text": text}]}}]} for text, n in texts]
    fake.respond(200, lines(events) + "data: [DONE]\n\n", headers=EVENTS)
    assert ask(connection).text == "- Mira is here."


def test_a_line_that_stays_open_after_the_end_does_not_keep_the_call(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, wire: str, write: Write
) -> None:
    if wire == "gemini":
        pytest.skip("this form has no end mark")
    body = write("- Mira").encode()

    def open_ended(line: socket.socket, closing: threading.Event) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        line.sendall(head + b"%x\r\n%s\r\n" % (len(body), body))
        closing.wait(60)

    with RawServer(open_ended) as server:
        redirect_preset(monkeypatch, NATIVE[wire].preset, server.url.removesuffix("/v1"))
        assert ask(connection).text == "- Mira"


def test_google_s_stream_may_be_one_list(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeModel() as fake:
        redirect_preset(monkeypatch, "gemini", fake.root_url)
        row = connect(alice, fake, preset="gemini", name="Box", key="key-of-alice-0123456789")
        fake.respond(200, gemini_events("- Mira", " is here.", thought="Hm."))
        said = ask(row)
        assert (said.text, said.reasoning, said.prompt_tokens) == ("- Mira is here.", "Hm.", 3)
        fake.respond(200, [{"error": {"code": 503, "message": "overloaded"}}])
        with pytest.raises(ProviderError, match="overloaded"):
            ask(row)


def test_a_refusal_in_a_stream(alice: User) -> None:
    with FakeModel() as fake:
        fake.respond(200, lines([{"choices": [{"delta": {"refusal": "I cannot."}}]}]), headers=EVENTS)
        with pytest.raises(ProviderError) as caught:
            ask(connect(alice, fake))
    assert caught.value.error_type == "forbidden"


def test_no_odd_piece_of_a_stream_is_a_crash(wire: str, write: Write) -> None:
    events = [json.loads(line[6:]) for line in write("- Mira", thought="Hm.").split("\n") if line.startswith("data: {")]
    count = 0
    for place, event in enumerate(events):
        for odd in mutants(event):
            count += 1
            body = "".join(f"data: {json.dumps(one)}\n\n" for one in [*events[:place], odd, *events[place + 1 :]])
            try:
                with shape_of("Box"):
                    answer = Answer(200, {"content-type": "text/event-stream"}, body.encode())
                    reply = WIRES[wire].read(read_object(answer, name="Box"), name="Box")
                assert isinstance(reply.text, str) and reply.text
            except ProviderError as error:
                assert error.message.isprintable()
    assert count > 100
