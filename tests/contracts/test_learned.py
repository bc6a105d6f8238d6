"""A refused form is asked again in the other one, and the next call, also of another process, knows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from providers import connecting, learning
from providers import test_connection as testing
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.connecting import Wish, change_connection
from providers.models import Call, Connection
from tests.support.fake_model import FakeModel
from tests.support.native import NATIVE
from tests.support.wire import QUESTION, connect, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
LENGTH = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
COOL = "Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is supported."
ROLE = "Unsupported value: 'messages[0].role' does not support 'system' with this model."


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel) -> Connection:
    return connect(alice, fake)


def refuse(fake: FakeModel, *said: str, status: int = 400) -> None:
    for words in said:
        fake.respond(status, {"error": {"message": words, "type": "invalid_request_error"}})


def stored(connection: Connection) -> Any:
    return Connection.objects.for_user(connection.owner).get(pk=connection.pk).learned


def last_call() -> Call:
    with unscoped("the test reads the ledger"):
        return Call.objects.latest("started_at")


def test_all_three_lessons_in_one_call(connection: Connection, fake: FakeModel) -> None:
    refuse(fake, LENGTH, COOL, ROLE)
    said = complete(connection, QUESTION)
    first, *_others, last = [request.body for request in fake.chats]
    assert first["max_tokens"] == 300 and first["temperature"] == 0.3 and len(first["messages"]) == 2
    assert last == {
        "model": "fake-small",
        "messages": [{"role": "user", "content": f"{QUESTION.system}\n\n{QUESTION.user}"}],
        "max_completion_tokens": 300,
        "stream": False,
    }
    with unscoped("the test counts the ledger"):
        assert Call.objects.count() == 1
    assert (said.call.retries, len(fake.chats)) == (3, 4)
    lesson = {"max_tokens": "max_completion_tokens", "temperature": False, "system": False}
    assert stored(connection) == {"fake-small": lesson}
    complete(connection, QUESTION)
    assert len(fake.chats) == 5 and fake.chats[4].body == last, "a row that was loaded before knows it too"
    assert last_call().retries == 0


@pytest.mark.parametrize("status", [200, 400, 422, 500])
def test_a_refusal_may_come_with_several_statuses(connection: Connection, fake: FakeModel, status: int) -> None:
    refuse(fake, "System role not supported", status=status)
    assert complete(connection, QUESTION).call.retries == 1
    assert stored(connection) == {"fake-small": {"system": False}}


def test_a_code_is_enough(connection: Connection, fake: FakeModel) -> None:
    said = {"message": "Invalid request.", "code": "unsupported_value", "param": "temperature"}
    fake.respond(400, {"error": said})
    complete(connection, QUESTION)
    assert stored(connection) == {"fake-small": {"temperature": False}}


def test_each_ability_is_tried_once_and_nothing_is_believed_that_did_not_help(
    connection: Connection, fake: FakeModel
) -> None:
    other = "max_completion_tokens is not supported."
    refuse(fake, LENGTH, other, LENGTH)
    with pytest.raises(ProviderError) as caught:
        complete(connection, QUESTION)
    assert caught.value.message.endswith("It said: max_completion_tokens is not supported.")
    assert len(fake.chats) == 2 and stored(connection) == {} and last_call().retries == 1


def test_a_test_of_the_connection_learns_too(connection: Connection, fake: FakeModel) -> None:
    connection.base_url = fake.root_url  # the /v1 was forgotten
    connection.save()
    refuse(fake, COOL)
    assert testing.test_connection(connection).state == "ok"
    assert stored(connection) == {"fake-small": {"temperature": False}}


@pytest.mark.parametrize(
    ("server", "obeys"), [("llamacpp", True), ("koboldcpp", True), ("library", False), ("", False)]
)
def test_a_local_server_that_says_it_can_is_held_to_the_grammar(
    connection: Connection, fake: FakeModel, server: str, obeys: bool
) -> None:
    fake.facts["fake-small"] = {"owned_by": server}
    connection.base_url = fake.root_url  # the /v1 was forgotten
    connection.save()
    assert testing.test_connection(connection).ok
    complete(connection, replace(QUESTION, grammar="root ::= [a-z]+"))
    assert [request.body.get("grammar", "")[:8] for request in fake.chats] == (["root ::="] * 2 if obeys else ["", ""])
    complete(connection, QUESTION)
    assert "grammar" not in fake.chats[-1].body


def test_a_grammar_that_is_refused_is_left_out_from_then_on(connection: Connection, fake: FakeModel) -> None:
    fake.facts["fake-small"] = {"owned_by": "llamacpp"}
    connecting.refresh_listing(connection)
    refuse(fake, "Failed to parse grammar")
    complete(connection, replace(QUESTION, grammar="root ::= [a-z]+"))
    assert [("grammar" in request.body) for request in fake.chats] == [True, False]
    connecting.refresh_listing(connection)
    complete(connection, replace(QUESTION, grammar="root ::= [a-z]+"))
    assert "grammar" not in fake.chats[-1].body and stored(connection) == {"fake-small": {"grammar": False}}


def test_a_model_that_can_only_think_in_the_grammar_is_let_go(connection: Connection, fake: FakeModel) -> None:
    fake.facts["fake-small"] = {"owned_by": "llamacpp"}
    connecting.refresh_listing(connection)
    fake.respond(200, NATIVE["openai"].only_thought)
    fake.answers("Mira lives in Oslo.")
    assert complete(connection, replace(QUESTION, grammar="root ::= [a-z]+")).text == "Mira lives in Oslo."
    assert stored(connection) == {"fake-small": {"grammar": False}}
    fake.respond(200, NATIVE["openai"].only_thought)
    with pytest.raises(ProviderError, match="used its whole answer for thinking"):
        complete(connection, QUESTION, tries=1)


def test_a_grammar_of_ones_own_stays(connection: Connection, fake: FakeModel) -> None:
    fake.facts["fake-small"] = {"owned_by": "llamacpp"}
    connecting.refresh_listing(connection)
    connection.extra_body = {"grammar": ""}
    complete(connection, replace(QUESTION, grammar="root ::= [a-z]+"))
    assert fake.chats[-1].body["grammar"] == ""


def test_nobody_else_gets_a_grammar(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    redirect_preset(monkeypatch, "openrouter", fake.root_url)
    row = connect(alice, fake, preset="openrouter", key="key-of-alice-0123456789")
    fake.facts["fake-small"] = {"owned_by": "llamacpp"}
    connecting.refresh_listing(row)
    complete(row, replace(QUESTION, grammar="root ::= [a-z]+"))
    assert "grammar" not in fake.chats[-1].body


def test_lessons_are_kept_for_each_model_and_go_with_the_address(connection: Connection, fake: FakeModel) -> None:
    refuse(fake, COOL)
    complete(connection, QUESTION)
    change_connection(connection, Wish("local", base_url=fake.base_url, model="fake-large"))
    complete(connection, QUESTION)
    assert fake.chats[-1].body["temperature"] == 0.3, "another model may be able to do it"
    change_connection(connection, Wish("local", base_url=fake.base_url, model="fake-small"))
    complete(connection, QUESTION)
    assert "temperature" not in fake.chats[-1].body
    change_connection(connection, Wish("local", base_url=f"{fake.base_url}/other"))
    assert stored(connection) == {}


def test_a_change_from_an_old_page_forgets_no_lesson(connection: Connection, fake: FakeModel) -> None:
    refuse(fake, COOL)
    old = Connection.objects.for_user(connection.owner).get(pk=connection.pk)
    complete(connection, QUESTION)
    change_connection(old, Wish("local", name="Renamed", base_url=fake.base_url))
    assert stored(connection) == {"fake-small": {"temperature": False}}


def test_two_who_learn_at_once_both_stay(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading and writing somebody else writes: it is read again."""
    filtered = type(Connection.objects.none()).filter
    others = iter(["é b", "c"])

    def filter_late(self: Any, *args: Any, **fields: Any) -> Any:
        if "learned" in fields and (name := next(others, "")):
            row = filtered(Connection.objects.all(), pk=connection.pk)
            row.update(learned={**row.values_list("learned", flat=True).get(), name: {"temperature": False}})
        return filtered(self, *args, **fields)

    monkeypatch.setattr(type(Connection.objects.none()), "filter", filter_late)
    learning.remember(connection, "a", {"system": False})
    learning.remember(connection, "a", {"temperature": False})
    monkeypatch.undo()
    cool = {"temperature": False}
    assert stored(connection) == {"é b": cool, "c": cool, "a": {"system": False, "temperature": False}}


def test_nothing_is_noted_for_an_address_that_was_left(connection: Connection, fake: FakeModel) -> None:
    before = Connection.objects.for_user(connection.owner).get(pk=connection.pk)
    change_connection(connection, Wish("local", base_url=f"{fake.base_url}/other"))
    learning.remember(before, "fake-small", {"temperature": False})
    assert stored(connection) == {}


def test_what_openai_is_known_for_is_right_at_once(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    redirect_preset(monkeypatch, "openai", fake.root_url)
    row = connecting.add_connection(alice, Wish("openai", key="sk-0123456789abcdef", model="gpt-5-mini"))
    complete(row, QUESTION)
    (sent,) = fake.chats
    assert sent.body["max_completion_tokens"] == 300 and not {"max_tokens", "temperature"} & sent.body.keys()


def test_a_typed_temperature_is_left_out_too(alice: User, fake: FakeModel) -> None:
    row = connect(alice, fake, temperature=None, extra_body={"temperature": 0.9})
    refuse(fake, COOL)
    complete(row, Request("", "Mira: I live in Oslo.", 20))
    assert [request.body.get("temperature") for request in fake.chats] == [0.9, None]


def test_gemma_at_google_has_no_system_role(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    redirect_preset(monkeypatch, "gemini", fake.root_url)
    row = connecting.add_connection(alice, Wish("gemini", key="AIza0123456789abcdef", model="gemma-3-27b-it"))
    refuse(fake, "Developer instruction is not enabled for models/gemma-3-27b-it")
    complete(row, QUESTION)
    assert "systemInstruction" not in fake.chats[1].body
    assert fake.chats[1].body["contents"][0]["parts"][0]["text"].startswith(QUESTION.system)


def test_the_page_says_that_no_temperature_is_sent(connection: Connection, fake: FakeModel, alice_client: Any) -> None:
    refuse(fake, COOL)
    complete(connection, QUESTION)
    page = alice_client.get(f"/settings/models/{connection.pk}/").content.decode()
    assert "fake-small takes none, so none is sent." in page
