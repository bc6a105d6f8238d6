"""Connections to the fake model, without waiting between tries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from accounts.models import User
from providers import catalogue, connecting, retry
from providers.base import Request
from providers.models import Connection
from tests.support.fake_model import FakeModel

QUESTION = Request("You list memories.", "Mira: I live in Oslo now.\nTom: I bought a boat yesterday.", 300)


@contextmanager
def served(**options: Any) -> Iterator[FakeModel]:
    """A fake model server, running."""
    with FakeModel(**options) as fake:
        yield fake


def connect(owner: User, fake: FakeModel, *, key: str = "", **fields: Any) -> Connection:
    """A local connection to the fake, saved without any test call."""
    row = Connection(owner=owner, name="Kitchen box", preset="local", base_url=fake.base_url, model="fake-small")
    for name, value in fields.items():
        setattr(row, name, value)
    connecting.set_key(row, key)
    row.save(force_insert=True)
    return row


def redirect_preset(monkeypatch: pytest.MonkeyPatch, key: str, fake: FakeModel) -> None:
    """A hosted preset that is served by the fake instead."""
    row = replace(catalogue.PRESETS[key], base_url=fake.base_url, reach="local")
    monkeypatch.setitem(catalogue.PRESETS, key, row)


def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tries, without the time between them."""
    monkeypatch.setattr(retry, "BACKOFF", (0.0, 0.0, 0.0))
