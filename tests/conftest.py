"""Fixtures for all tests: the people, and a network that stays shut."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from tests.support import services
from tests.support.people import make_person

pytest_plugins = ["tests.support.services_report"]


@pytest.fixture
def postgres_url() -> str:
    """A fresh database on a real PostgreSQL."""
    services.require("postgres")
    return services.postgres_database()


@pytest.fixture
def valkey_url() -> str:
    """An empty database on a real Valkey."""
    services.require("valkey")
    return services.valkey_database()


@pytest.fixture
def alice(db: Any) -> User:
    return make_person("alice", role="admin")


@pytest.fixture
def bob(db: Any) -> User:
    return make_person("bob")


@pytest.fixture
def charlie(db: Any) -> User:
    return make_person("charlie")


@pytest.fixture
def alice_client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def bob_client(bob: User) -> Client:
    client = Client()
    client.force_login(bob)
    return client


@pytest.fixture
def charlie_client(charlie: User) -> Client:
    client = Client()
    client.force_login(charlie)
    return client


@pytest.fixture(autouse=True)
def shut_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine fails by name."""
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and self.type == socket.SOCK_STREAM:
            host = str(address[0])
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise AssertionError(f"A test tried to reach {host}.")
        real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
