"""SillyTavern's server with accounts and basic auth: getting in, and what is said when one does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from providers.network import Policy, policy_for
from sync.tavern.chunks import Chunk
from sync.tavern.server import Login, Server, ServerError, check_login, connect
from tests.support.fake_model import FakeModel
from tests.support.tavern import RunningTavern, start_tavern

pytestmark = pytest.mark.tavern

CONFIG = """skipContentCheck: true
listenAddress: {ipv4: 127.0.0.1}
basicAuthMode: true
basicAuthUser: {username: ren, password: "pa:ss"}
enableUserAccounts: true
"""
BASIC = {"basic_name": "ren", "basic_password": "pa:ss"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tavern_model: FakeModel) -> Iterator[RunningTavern]:
    """Accounts mode behind basic auth; default-user has a password."""
    folder = tmp_path_factory.mktemp("guarded")
    running = start_tavern(folder, tavern_model.root_url, CONFIG, flags=("--listen", "true"))
    yield running
    running.stop()


@pytest.fixture
def policy(alice: User) -> Policy:
    return policy_for(alice)


def test_accounts_and_basic_auth(guarded: RunningTavern, policy: Policy, tavern_model: FakeModel) -> None:
    body = {"source": "vllm", "apiUrl": tavern_model.root_url, "model": "fake-embed"}
    with pytest.raises(ServerError, match=r"asks for a name and password \(basic auth\)"), connect(guarded.url, policy):
        pass
    with connect(guarded.url, policy, Login(**BASIC)) as visitor:
        assert visitor.has_accounts()
        with pytest.raises(ServerError, match="refused the request"):
            visitor.list_vectors(body, "charmem_test")
    _set_password(guarded, policy, "s3cret")
    login = Login("default-user", "s3cret", **BASIC)
    assert check_login(guarded.url, policy, login) == "default-user"
    with pytest.raises(ServerError, match="did not accept this name and password"):
        check_login(guarded.url, policy, Login("default-user", "wrong", **BASIC))
    with connect(guarded.url, policy, login) as server:
        assert server.version().startswith("1.")
        server.insert_vectors(body, "charmem_test", [Chunk(7, "a lantern", 0)])
        assert server.list_vectors(body, "charmem_test") == [7]
        server.purge_vectors("charmem_test")
        assert server.list_vectors(body, "charmem_test") == []


def test_without_accounts_a_login_proves_nothing(tavern: RunningTavern, policy: Policy) -> None:
    with pytest.raises(ServerError, match="has no accounts"):
        check_login(tavern.url, policy, Login("default-user", ""))


def test_a_session_that_died_is_renewed(tavern: RunningTavern, policy: Policy) -> None:
    with connect(tavern.url, policy) as server:
        _forget_session(server)
        assert server.settings()["main_api"] == "openai"


def _set_password(guarded: RunningTavern, policy: Policy, password: str) -> None:
    with connect(guarded.url, policy, Login("default-user", "", **BASIC)) as server:
        server.post(
            "/api/users/change-password", {"handle": "default-user", "oldPassword": "", "newPassword": password}
        )


def _forget_session(server: Server) -> None:
    server._token = "0" * 64
