"""Models through a real SillyTavern: each login mode, each person's own key, its profiles, and a stop in mid-answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.connecting import refresh_listing
from providers.models import Call, Connection, NetworkRule
from providers.network import policy_for
from providers.test_connection import test_connection as try_connection
from providers.vault import seal
from sync.models import Tavern
from sync.tavern.server import Login, connect
from tests.support.builders import make_tavern
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer, silent
from tests.support.tavern import RunningTavern, start_tavern
from tests.support.tavern_models import FAST, connect_through, set_tavern
from tests.support.waiting import wait_until
from tests.support.wire import QUESTION, no_pauses

pytestmark = pytest.mark.tavern

BASIC = """skipContentCheck: true
listenAddress: {ipv4: 127.0.0.1}
basicAuthMode: true
basicAuthUser: {username: ren, password: "pa:ss"}
"""
ACCOUNTS = "skipContentCheck: true\nenableUserAccounts: true\n"
KEYS = {"alice": "sk-of-alice-000000000001", "bob": "sk-of-bob-0000000000000002"}
PASSWORDS = {"alice": "lantern-7", "bob": "harbour-9"}
ADMIN = Login("default-user", "")


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """The model behind SillyTavern; it logs what came, with which key."""
    with FakeModel() as fake:
        yield fake


@pytest.fixture(scope="module")
def basic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTavern]:
    running = start_tavern(tmp_path_factory.mktemp("basic"), "", BASIC, flags=("--listen", "true"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTavern]:
    running = start_tavern(tmp_path_factory.mktemp("accounts"), "", ACCOUNTS)
    yield running
    running.stop()


@pytest.fixture
def own(alice: User, tavern: RunningTavern, model: FakeModel) -> Iterator[Tavern]:
    """Alice's SillyTavern without any login, set to the model; as it was afterwards."""
    settings = (tavern.user_folder / "settings.json").read_bytes()
    set_tavern(tavern.user_folder, model.root_url)
    yield make_tavern(alice, folder=str(tavern.user_folder), url=tavern.url)
    (tavern.user_folder / "settings.json").write_bytes(settings)


def authorizations(model: FakeModel) -> list[str]:
    headers = [{name.lower(): value for name, value in one.headers.items()} for one in model.chats]
    return [found.get("authorization", "") for found in headers]


def test_without_a_login_what_sillytavern_is_set_to_answers_and_changes_are_followed(
    own: Tavern, tavern: RunningTavern, model: FakeModel
) -> None:
    connection = connect_through(own)
    assert complete(connection, QUESTION).text.startswith("<memory>")
    sent = model.chats[-1].body
    assert (sent["model"], sent["stream"], sent["max_tokens"]) == ("fake-llm", False, 300)
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    set_tavern(tavern.user_folder, model.root_url, oai_settings={"custom_model": "another-llm"})
    done = complete(connection, QUESTION)
    assert model.chats[-1].body["model"] == done.model == done.call.model == "another-llm"
    assert done.call.prompt_tokens and not done.call.is_estimate and done.call.cost is None


def test_profiles_are_listed_and_each_asks_its_own_model(own: Tavern, model: FakeModel) -> None:
    connection = connect_through(own)
    assert refresh_listing(connection) == ["Main LLM", "Fast [3f2a91bc]", "Kitchen [77aa0000]", "Horde [99990000]"]
    verdict = try_connection(connection)
    assert verdict.state != "bad", verdict
    complete(connect_through(own, "Fast [3f2a91bc]"), QUESTION)
    sent = model.chats[-1].body
    # "strict" post-processing is SillyTavern's own: what we sent as two roles came out as it wants them
    assert sent["model"] == "fast-model" and [one["role"] for one in sent["messages"]] == ["system", "user"]


def test_a_text_completion_profile_gets_plain_text(own: Tavern, model: FakeModel) -> None:
    model.respond(200, {"content": " - Mira lives in Oslo.", "stop_type": "limit", "tokens_predicted": 9})
    done = complete(connect_through(own, "Kitchen [77aa0000]"), QUESTION)
    asked = model.requests[-1]
    assert (done.text, done.is_truncated, done.completion_tokens) == ("- Mira lives in Oslo.", True, 9)
    assert asked.path == "/completion" and asked.body["n_predict"] == 300
    assert asked.body["prompt"] == f"{QUESTION.system}\n\n{QUESTION.user}\n\n"


def test_what_the_model_refused_in_words_is_learned_although_sillytavern_keeps_them(
    own: Tavern, model: FakeModel
) -> None:
    connection = connect_through(own)
    refusal = {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}
    model.respond(400, refusal, times=2)
    complete(connection, QUESTION)
    assert "max_tokens" not in model.chats[-1].body and model.chats[-1].body["max_completion_tokens"] == 300
    connection.refresh_from_db()
    assert connection.learned == {"custom/fake-llm": {"max_tokens": "max_completion_tokens"}}


def test_a_model_that_wants_quiet_or_has_another_trouble_is_told_apart(
    own: Tavern, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_pauses(monkeypatch)
    connection = connect_through(own)
    model.respond(429, {"error": {"message": "slow down"}})
    assert complete(connection, QUESTION).call.retries == 1
    model.respond(401, {"error": {"message": "no"}})
    error = _refused(connection)
    assert (error.error_type, error.retryable, error.hint[:13]) == ("key", False, "Enter the key")
    model.respond(429, {"error": {"type": "insufficient_quota"}})
    assert _refused(connection).error_type == "payment"


def test_a_model_that_is_not_there_and_a_source_without_a_key(own: Tavern, tavern: RunningTavern) -> None:
    set_tavern(tavern.user_folder, "http://127.0.0.1:9")
    gone = _refused(connect_through(own))
    assert (gone.error_type, gone.retryable, gone.status) == ("server", True, 502)
    assert _refused(connect_through(own, "Kitchen [77aa0000]")).retryable
    set_tavern(tavern.user_folder, "", oai_settings={"chat_completion_source": "groq", "groq_model": "x"})
    keyless = _refused(connect_through(own))
    assert (keyless.error_type, keyless.retryable) == ("key", False) and "no key for “groq”" in keyless.message


def test_a_stop_closes_the_connection_down_to_the_model(own: Tavern, tavern: RunningTavern) -> None:
    with RawServer(silent) as server:
        set_tavern(tavern.user_folder, server.url.removesuffix("/v1"))
        connection, stopped = connect_through(own), threading.Event()

        def stop() -> bool:
            if server.connections:
                stopped.set()
            return stopped.is_set()

        with pytest.raises(ProviderError) as caught:
            complete(connection, QUESTION, stop=stop)
        assert caught.value.error_type == "stopped"
        wait_until(server.hung_up.is_set)  # SillyTavern lets go of the model when we let go of it


def test_behind_basic_auth(alice: User, basic: RunningTavern, model: FakeModel) -> None:
    set_tavern(basic.user_folder, model.root_url)
    row = make_tavern(alice, folder=str(basic.user_folder), url=basic.url)
    connection = connect_through(row)
    error = _refused(connection)
    assert error.error_type == "key" and "basic auth" in error.message
    row.basic_auth_name, row.basic_auth_sealed = "ren", seal("pa:ss", owner_id=alice.pk, row_id=row.pk)
    row.save()
    assert complete(connection, QUESTION).text.startswith("<memory>")
    assert len(model.chats) == 1


def test_two_people_with_two_accounts_ask_with_two_keys(
    alice: User, bob: User, accounts: RunningTavern, model: FakeModel
) -> None:
    NetworkRule.objects.create(network="127.0.0.0/8")
    lines = {person.username: _account(accounts, person, model) for person in (alice, bob)}
    for name in ("alice", "bob", "alice"):
        complete(lines[name], QUESTION)
    assert authorizations(model) == [f"Bearer {KEYS[name]}" for name in ("alice", "bob", "alice")]
    _invalidate_sessions(accounts, alice, "alice")
    complete(lines["alice"], QUESTION)  # its session died meanwhile: it logs in anew, as alice
    assert authorizations(model)[-1] == f"Bearer {KEYS['alice']}"
    assert [call.status for call in Call.objects.for_user(alice)] == [200, 200, 200]
    assert [call.status for call in Call.objects.for_user(bob)] == [200]
    _use_second_key(accounts, bob, model)
    bobs = Tavern.objects.for_user(bob).get()
    complete(connect_through(bobs, "Fast [3f2a91bc]"), QUESTION)
    complete(lines["bob"], QUESTION)
    assert authorizations(model)[-2:] == [f"Bearer {KEYS['bob']}", "Bearer sk-second"]
    bobs.password_sealed = seal("wrong", owner_id=bob.pk, row_id=bobs.pk)
    bobs.save()
    assert _refused(lines["bob"]).message == "SillyTavern did not accept this name and password."


def _refused(connection: Connection, question: Request = QUESTION) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        complete(connection, question, tries=1)
    return caught.value


def _account(tavern: RunningTavern, person: User, model: FakeModel) -> Connection:
    """An account of SillyTavern with a key of its own, linked by this person."""
    name = person.username
    with connect(tavern.url, policy_for(person), ADMIN) as admin:
        account = {"handle": name, "name": name, "password": PASSWORDS[name], "admin": False}
        admin.post("/api/users/create", account)
    _write_key(tavern, person, KEYS[name])
    folder = tavern.data_root / name
    set_tavern(folder, model.root_url)
    row = make_tavern(person, folder=str(folder), url=tavern.url, login=name)
    row.password_sealed = seal(PASSWORDS[name], owner_id=person.pk, row_id=row.pk)
    row.save()
    return connect_through(row)


def _write_key(tavern: RunningTavern, person: User, key: str) -> str:
    name = person.username
    with connect(tavern.url, policy_for(person), Login(name, PASSWORDS[name])) as own:
        body = {"key": "api_key_custom", "value": key, "label": key[:9]}
        return str(own.post("/api/secrets/write", body).json()["id"])


def _use_second_key(tavern: RunningTavern, person: User, model: FakeModel) -> None:
    """The newest key is the one in use; the profile names the first one."""
    name = person.username
    with connect(tavern.url, policy_for(person), Login(name, PASSWORDS[name])) as own:
        state: Any = own.post("/api/secrets/read").json()
    first = next(one["id"] for one in state["api_key_custom"] if one["label"] == KEYS[name][:9])
    _write_key(tavern, person, "sk-second")
    profile = {**FAST, "api-url": f"{model.root_url}/v1", "secret-id": first}
    set_tavern(
        tavern.data_root / name, model.root_url, extension_settings={"connectionManager": {"profiles": [profile]}}
    )


def _invalidate_sessions(tavern: RunningTavern, person: User, name: str) -> None:
    """The same password set anew ends every session that was open."""
    with connect(tavern.url, policy_for(person), ADMIN) as admin:
        admin.post("/api/users/change-password", {"handle": name, "newPassword": PASSWORDS[name]})
