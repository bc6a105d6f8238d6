"""Connections to the fake model, without waiting between tries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from accounts.models import User
from providers import catalogue, connecting, network, retry
from providers.base import Request
from providers.models import Connection
from providers.network import Policy
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer

QUESTION = Request("You list memories.", "Mira: I live in Oslo now.\nTom: I bought a boat yesterday.", 300)


@contextmanager
def served(**options: Any) -> Iterator[FakeModel]:
    """A fake model server, running."""
    with FakeModel(**options) as fake:
        yield fake


def connect(owner: User, fake: FakeModel | RawServer, *, key: str = "", **fields: Any) -> Connection:
    """A local connection to the fake, saved without any test call."""
    row = Connection(owner=owner, name="Kitchen box", preset="local", base_url=fake.base_url, model="fake-small")
    for name, value in fields.items():
        setattr(row, name, value)
    connecting.set_key(row, key)
    row.save(force_insert=True)
    return row


@dataclass(frozen=True)
class AnyAddress(Policy):
    """Whatever a test's server listens on may be reached, also as a hosted provider's address."""

    def refusal(self, scheme: str, address: str, port: int, reach: str) -> str:
        return ""


def redirect_preset(monkeypatch: pytest.MonkeyPatch, key: str, root_url: str) -> None:
    """A preset of the catalogue whose server is the one at `root_url`; the path of its address stays."""
    row = catalogue.PRESETS[key]
    base_url = root_url + urlsplit(row.base_url).path
    monkeypatch.setitem(catalogue.PRESETS, key, replace(row, base_url=base_url))
    monkeypatch.setattr(network, "policy_for", lambda user: AnyAddress())


def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tries, without the time between them."""
    monkeypatch.setattr(retry, "BACKOFF", (0.0, 0.0, 0.0))
