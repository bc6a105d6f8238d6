"""Through SillyTavern: what its endpoints answer, in every shape and every trouble, ends as text or as one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from providers import connecting, pool
from providers.base import Completion, ProviderError
from providers.complete import complete
from providers.connecting import ConnectionProblem, Wish, add_connection
from providers.models import Call, Connection
from providers.vault import seal
from sync.models import Tavern
from tests.support.builders import make_tavern
from tests.support.fake_tavern import FakeTavern
from tests.support.services import free_port
from tests.support.tavern_models import connect_through, set_tavern
from tests.support.wire import QUESTION, no_pauses

pytestmark = pytest.mark.django_db
CHAT, TEXT = "/api/backends/chat-completions/generate", "/api/backends/text-completions/generate"
SSE = 'data: {"choices": [{"delta": {"content": "Mira lives in Oslo."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
GOOD = {"choices": [{"message": {"content": "Mira lives in Oslo."}, "finish_reason": "stop"}]}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTavern]:
    no_pauses(monkeypatch)
    set_tavern(tmp_path / "t", "http://127.0.0.1:1")
    with FakeTavern(tmp_path / "t") as running:
        running.says = [(200, GOOD)]
        yield running


@pytest.fixture
def tavern(alice: User, server: FakeTavern) -> Tavern:
    return make_tavern(alice, folder=str(server.user_folder), url=server.url)


@pytest.fixture
def connection(tavern: Tavern) -> Connection:
    return connect_through(tavern)


def asked(server: FakeTavern) -> list[Any]:
    return [body for path, body in server.calls if path in (CHAT, TEXT)]


def refused(connection: Connection) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        complete(connection, QUESTION, tries=1)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "text", "thought"),
    [
        (GOOD, "Mira lives in Oslo.", ""),
        (
            {
                "choices": [{"message": {"content": "x"}}],
                "content": [{"thinking": "Hm."}, {"type": "text", "text": "A."}],
            },
            "A.",
            "Hm.",
        ),
        (
            {
                "choices": [{"message": {"content": "B."}}],
                "responseContent": {"parts": [{"text": "C", "thought": True}]},
            },
            "B.",
            "",
        ),
        ({"message": {"content": [{"type": "text", "text": "D."}]}, "finish_reason": "COMPLETE"}, "D.", ""),
        ({"choices": [{"message": {"content": "<think>E</think>F."}}]}, "F.", "E"),
    ],
    ids=["openai", "claude", "gemini", "cohere", "thinking"],
)
def test_chat_sources_answer_in_their_own_shapes(
    connection: Connection, server: FakeTavern, answer: Any, text: str, thought: str
) -> None:
    server.says = [(200, answer)]
    done = complete(connection, QUESTION)
    assert (done.text, done.reasoning, done.model) == (text, thought, "fake-llm")


@pytest.mark.parametrize(
    ("kind", "answer", "is_cut", "tokens"),
    [
        ("vllm", {"choices": [{"text": "A.", "finish_reason": "length"}], "usage": {"completion_tokens": 4}}, True, 4),
        ("llamacpp", {"content": "A.", "stopped_limit": True, "tokens_predicted": 5}, True, 5),
        ("ollama", {"response": "A.", "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 6}, False, 6),
        ("koboldcpp", {"results": [{"text": "A."}]}, False, 1),
    ],
)
def test_text_types_answer_in_their_own_shapes(
    connection: Connection, server: FakeTavern, kind: str, answer: Any, is_cut: bool, tokens: int
) -> None:
    own = {"type": kind, "server_urls": {kind: "http://127.0.0.1:1"}}
    set_tavern(
        server.user_folder, "http://127.0.0.1:1", main_api="textgenerationwebui", textgenerationwebui_settings=own
    )
    server.says = [(200, answer)]
    done = complete(connection, QUESTION)
    assert (done.text, done.is_truncated, done.completion_tokens) == ("A.", is_cut, tokens)
    (body,) = asked(server)
    assert body["prompt"].startswith(QUESTION.system) and "messages" not in body
    assert (body["api_type"], body["api_server"], body["stream"]) == (kind, "http://127.0.0.1:1", False)


def test_ollama_gets_a_window_that_holds_the_question(connection: Connection, server: FakeTavern) -> None:
    own = {"type": "ollama", "server_urls": {"ollama": "http://127.0.0.1:1"}}
    chosen = {"main_api": "textgenerationwebui", "textgenerationwebui_settings": own, "max_context": 8192}
    set_tavern(server.user_folder, "http://127.0.0.1:1", **chosen)
    server.says = [(200, {"response": "A."})]
    complete(connection, QUESTION)
    complete(connection, replace(QUESTION, user="A lantern. " * 3000))
    assert [one["num_ctx"] for one in asked(server)] == [8192, 12288]


@pytest.mark.parametrize(
    ("status", "answer", "kind", "retryable"),
    [
        (502, {"error": {"message": "Connection refused: request to", "code": "ECONNREFUSED"}}, "server", True),
        (400, {"error": True}, "key", False),
        (500, {"error": True}, "server", True),
        (500, {"error": {"code": 429, "message": "Quota for today"}}, "rate", True),
        (500, {"error": {"type": "authentication_error", "message": "no"}}, "key", False),
        (500, {"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}, "payment", False),
        (500, {"error": {"type": "rate_limit_error", "message": "slow"}}, "rate", True),
        (500, {"detail": "Unauthorized"}, "key", False),
        (200, {"error": {"message": "Unauthorized"}, "quota_error": False}, "key", False),
        (200, {"error": {"message": "Forbidden"}}, "forbidden", False),
        (200, {"error": {"message": "Not Found"}}, "not_found", False),
        (200, {"error": {"message": "Too Many Requests"}, "quota_error": False}, "rate", True),
        (200, {"error": {"message": "Too Many Requests"}, "quota_error": True}, "payment", False),
        (200, {"error": {"message": "Service Unavailable"}}, "server", True),
        (200, {"error": {"message": "Unknown error occurred"}}, "server", True),
        (200, {"error": {"message": "Candidate text empty"}}, "server", False),
        (200, {"error": True, "status": 401, "response": "{}"}, "key", False),
        (200, {"error": True, "status": 429, "response": ""}, "rate", True),
        (200, {"error": True, "status": "ECONNREFUSED", "response": "connect ECONNREFUSED"}, "server", True),
        (200, {"error": True}, "server", True),
        (200, {"choices": []}, "empty", True),
        (200, "<html>login</html>", "html", True),
        (200, "[1]", "content_type", True),
        (404, "no such route", "not_found", False),
    ],
)
def test_every_trouble_is_one_sentence(
    connection: Connection, server: FakeTavern, status: int, answer: Any, kind: str, retryable: bool
) -> None:
    server.says = [(status, answer)]
    error = refused(connection)
    assert (error.error_type, error.retryable) == (kind, retryable), error.sentence
    assert error.message and error.sentence.count("\n") == 0
    with unscoped("the test reads the ledger"):
        assert Call.objects.get().error_type == kind


def test_a_refusal_without_words_is_asked_for_its_words_and_teaches(connection: Connection, server: FakeTavern) -> None:
    told = {"error": {"message": "Unsupported value: 'temperature' does not support 0.3 with this model."}}
    server.says = [(200, {"error": {"message": "Bad Request"}}), (400, told), (200, GOOD)]
    assert complete(connection, QUESTION).text == "Mira lives in Oslo."
    assert [(one["stream"], "temperature" in one) for one in asked(server)] == [
        (False, True),
        (True, True),
        (False, False),
    ]
    with unscoped("the test reads what was learned"):
        assert Connection.objects.get().learned == {"custom/fake-llm": {"temperature": False}}


def test_a_second_asking_that_goes_well_is_the_answer(connection: Connection, server: FakeTavern) -> None:
    server.says = [(200, {"error": {"message": "Bad Request"}}), (200, SSE)]
    assert complete(connection, QUESTION).text == "Mira lives in Oslo."
    assert len(asked(server)) == 2


def test_a_text_that_is_too_long_is_known_as_that(connection: Connection, server: FakeTavern) -> None:
    said = {"error": {"message": "This model's maximum context length is 4096 tokens."}}
    server.says = [(200, {"error": {"message": "Bad Request"}}), (400, said)]
    assert refused(connection).error_type == "context"


def test_one_session_serves_several_questions_and_a_forgotten_one_is_renewed_once(
    alice: User, server: FakeTavern, tavern: Tavern
) -> None:
    server.accounts = {"mara": "pw"}
    tavern.login, tavern.password_sealed = "mara", seal("pw", owner_id=alice.pk, row_id=tavern.pk)
    tavern.save()
    connection = connect_through(tavern)
    complete(connection, QUESTION)
    complete(connection, QUESTION)
    assert server.sessions == 1
    server.cookie = "session-2"
    complete(connection, QUESTION)
    assert server.sessions == 2 and len(asked(server)) == 3


def test_a_session_that_is_refused_for_good_is_a_sentence(server: FakeTavern, connection: Connection) -> None:
    server.accounts = {"mara": "pw"}
    error = refused(connection)
    assert (error.error_type, error.retryable, error.status) == ("forbidden", False, 403)
    assert error.hint.startswith("Log in with the account of this folder")
    assert server.sessions == 2


def test_a_server_that_is_away_may_come_back(tmp_path: Path, alice: User) -> None:
    set_tavern(tmp_path / "t", "http://127.0.0.1:1")
    row = make_tavern(alice, folder=str(tmp_path / "t"), url=f"http://127.0.0.1:{free_port()}")
    error = refused(connect_through(row))
    assert (error.error_type, error.retryable) == ("connect", True)


def test_what_was_chosen_and_is_gone_says_so(connection: Connection, server: FakeTavern, tavern: Tavern) -> None:
    connection.model = "Summer [12345678]"
    assert refused(connection).sentence == (
        "SillyTavern has no Connection Profile “Summer [12345678]” any more. Choose another one in Settings, Models."
    )
    connection.model = "Horde [99990000]"
    assert refused(connection).message == "CharMem cannot ask “AI Horde” through SillyTavern."
    (server.user_folder / "settings.json").write_text("{")
    assert refused(connection).retryable
    tavern.url = ""
    tavern.save()
    assert refused(connection).hint == "Enter it in Settings, SillyTavern."
    tavern.delete()
    assert "is not linked any more" in refused(connection).message
    assert not asked(server)


def test_nobody_leads_a_connection_through_somebody_elses(bob: User, tavern: Tavern, connection: Connection) -> None:
    make_tavern(bob, url="http://127.0.0.1:9")
    with pytest.raises(ConnectionProblem, match="not one of your own servers"):
        add_connection(bob, Wish("sillytavern", base_url=f"sillytavern:{tavern.pk}"))
    stolen = Connection(owner=bob, preset="sillytavern", name="X", base_url=connection.base_url, model="Main LLM")
    stolen.save(force_insert=True)
    assert "is not linked any more" in refused(stolen).message


def test_extra_fields_do_not_replace_where_a_question_goes(connection: Connection, server: FakeTavern) -> None:
    connection.extra_body = {
        "custom_url": "http://evil/v1",
        "chat_completion_source": "evil",
        "messages": [],
        "seed": 7,
    }
    complete(connection, QUESTION)
    (body,) = asked(server)
    assert (body["custom_url"], body["chat_completion_source"]) == ("http://127.0.0.1:1/v1", "custom")
    assert len(body["messages"]) == 2 and body["seed"] == 7


def test_no_password_of_sillytavern_stands_in_an_error_or_a_row(
    connection: Connection, server: FakeTavern, caplog: pytest.LogCaptureFixture
) -> None:
    proxied = {
        "chat_completion_source": "claude",
        "claude_model": "c",
        "reverse_proxy": "http://p",
        "proxy_password": "canary-0123456789",
    }
    set_tavern(server.user_folder, "http://127.0.0.1:1", oai_settings=proxied)
    server.says = [(502, {"error": {"message": "request to http://p failed for canary-0123456789"}})]
    error = refused(connection)
    assert asked(server)[0]["proxy_password"] == "canary-0123456789"
    with unscoped("the test looks at every row"):
        rows = json.dumps([*Call.objects.values(), *Connection.objects.values()], default=str)
    assert "canary" not in error.sentence + error.said + rows + caplog.text


def test_prices_are_those_that_were_typed_and_never_nothing(connection: Connection) -> None:
    done: Completion = complete(connection, QUESTION)
    assert done.call.cost is None
    connecting.change_connection(connection, Wish("sillytavern", more={"price_in": 2, "price_out": 2}))
    assert complete(connection, QUESTION).call.cost


def teardown_function() -> None:
    """Sessions with servers that are gone wait for nobody."""
    pool._sweep()
