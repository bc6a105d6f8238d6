"""A connection to a model's server is used again for a moment, and only for what it was vetted for."""

from __future__ import annotations

import pytest

from accounts.models import User
from providers import pool
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.models import Connection
from providers.transport import Client
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel

QUESTION = Request("", "Mira: I live in Oslo now.", 50)


@pytest.fixture
def vetted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The port of each connection that was opened."""
    ports: list[int] = []
    vet = Client._vet

    def and_note(self: Client, host: str, port: int, found: list[str]) -> list[str]:
        ports.append(port)
        return vet(self, host, port, found)

    monkeypatch.setattr(Client, "_vet", and_note)
    return ports


def connect(owner: User, fake: FakeModel) -> Connection:
    return make_connection(owner, preset="local", base_url=fake.base_url, model="fake-small")


@pytest.mark.django_db
def test_calls_one_after_another_share_a_connection(alice: User, vetted: list[int]) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake)
        for _number in range(3):
            complete(row, QUESTION)
        assert vetted == [fake.port]


@pytest.mark.django_db
def test_a_connection_that_waited_too_long_is_not_used(
    alice: User, vetted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.0)
    with FakeModel() as fake:
        row = connect(alice, fake)
        complete(row, QUESTION)
        complete(row, QUESTION)
        assert vetted == [fake.port, fake.port]


@pytest.mark.django_db
def test_after_a_failure_it_is_opened_anew(alice: User, vetted: list[int]) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake)
        fake.respond(401, {"error": "no"})
        with pytest.raises(ProviderError):
            complete(row, QUESTION)
        complete(row, QUESTION)
        assert vetted == [fake.port, fake.port]


@pytest.mark.django_db
def test_a_network_that_was_closed_is_closed_for_the_next_call(
    alice: User, vetted: list[int], settings: pytest.FixtureRequest
) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake)
        complete(row, QUESTION)
        settings.LOCAL_NETWORKS = ["10.9.8.0/24"]  # type: ignore[attr-defined]
        with pytest.raises(ProviderError) as caught:
            complete(row, QUESTION)
        assert caught.value.error_type == "address"
        assert len(fake.chats) == 1
