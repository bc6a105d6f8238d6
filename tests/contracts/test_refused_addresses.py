"""Addresses that no connection reaches: when it is saved, and again when it is called, whatever they look like."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import User
from providers import network, pool
from providers.base import ProviderError
from providers.complete import complete
from providers.connecting import ConnectionProblem, Wish, add_connection, refresh_listing
from providers.models import Connection
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer, says
from tests.support.wire import QUESTION

pytestmark = pytest.mark.django_db
LOOPBACK = (
    *("127.0.0.1", "localhost", "127.1", "127.0.0.2", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1"),
    "017700000001",
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
)  # fmt: skip
METADATA = (
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "169.254.170.2"),
    *("[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200"),
    *("168.63.129.16", "metadata.google.internal"),
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture
def listener() -> Iterator[RawServer]:
    """Somebody who listens at a port of this computer and must not be called."""
    with RawServer(says(ANSWER)) as server:
        yield server


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What names resolve to; addresses, and names that are not here, go to the system's resolver."""
    known = {"metadata.google.internal": "169.254.169.254"}
    system: Callable[..., Any] = socket.getaddrinfo

    def look_up(host: str, port: Any, *args: Any, **options: Any) -> Any:
        return system(known.get(host, host), port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


def is_refused(owner: User, preset: str, url: str) -> str:
    """Why a connection can neither be saved nor, if it is there all the same, be called."""
    with pytest.raises(ConnectionProblem) as problem:
        add_connection(owner, Wish(preset, base_url=url, model="m"))
    row = make_connection(owner, preset=preset, base_url=url, model="m", is_default=False)
    for call in (lambda: complete(row, QUESTION), lambda: refresh_listing(row)):
        with pytest.raises(ProviderError) as caught:
            call()
        assert caught.value.error_type == "address" and not caught.value.retryable
        assert caught.value.message in (problem.value.message, "This is not a web address.")
    return problem.value.message


@pytest.mark.parametrize("host", LOOPBACK)
def test_a_member_reaches_nothing_on_this_computer(bob: User, listener: RawServer, host: str) -> None:
    for preset in ("local", "custom"):
        said = is_refused(bob, preset, f"http://{host}:{listener.port}/v1")
        assert "local network" in said
    assert listener.connections == 0


@pytest.mark.parametrize("host", METADATA)
@pytest.mark.parametrize("preset", ["local", "custom"])
def test_nobody_asks_a_cloud_for_its_secrets(
    alice: User, names: dict[str, str], settings: Any, host: str, preset: str
) -> None:
    settings.LOCAL_NETWORKS = ["0.0.0.0/0", "::/0"]
    assert is_refused(alice, preset, f"http://{host}/v1").endswith("is a kind of address that CharMem never talks to.")


@pytest.mark.parametrize("part", ["pages", "broker", "database"])
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "box.example"])
def test_nobody_talks_to_charmem_s_own_parts(
    alice: User,
    listener: RawServer,
    names: dict[str, str],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    host: str,
) -> None:
    names["box.example"] = "127.0.0.1"
    if part == "pages":
        settings.BIND = f"0.0.0.0:{listener.port}"
    elif part == "broker":
        settings.BROKER_URL = f"redis://:secret@127.0.0.1:{listener.port}/0"
    else:
        place = {"HOST": "localhost", "PORT": listener.port}
        monkeypatch.setitem(settings.DATABASES, "default", {**settings.DATABASES["default"], **place})
    network._own_services.cache_clear()
    try:
        said = is_refused(alice, "local", f"http://{host}:{listener.port}/v1")
    finally:
        network._own_services.cache_clear()
    assert said.endswith("belongs to CharMem itself.") and listener.connections == 0


def test_a_name_that_moves_home_between_check_and_call(bob: User, listener: RawServer, names: dict[str, str]) -> None:
    names["model.example"] = "93.184.216.34"
    url = f"https://model.example:{listener.port}/v1"
    row = add_connection(bob, Wish("custom", base_url=url, model="m"))
    for address in ("127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fd00:ec2::254", "0.0.0.0"):
        names["model.example"] = address
        with pytest.raises(ProviderError) as caught:
            complete(row, QUESTION)
        assert caught.value.error_type == "address"
    assert listener.connections == 0


def test_a_name_that_moves_while_its_line_is_kept_open(
    alice: User, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["box.example"] = "127.0.0.1"
    with FakeModel() as fake:
        row = add_connection(alice, Wish("local", base_url=f"http://box.example:{fake.port}/v1", model="m"))
        complete(row, QUESTION)
        names["box.example"] = "169.254.169.254"
        complete(row, QUESTION)  # on the line to the address that was vetted
        monkeypatch.setattr(pool, "LONGEST_LIFE", 0.0)
        with pytest.raises(ProviderError) as caught:
            complete(row, QUESTION)
        assert caught.value.error_type == "address" and len(fake.chats) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["http://127.0.0.1:{port}/v1", "//127.0.0.1:{port}", "http://[::ffff:7f00:1]:{port}/"])
def test_a_redirect_to_a_private_address_is_not_followed(
    alice: User, listener: RawServer, status: int, to: str
) -> None:
    place = to.format(port=listener.port)
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    with RawServer(says(head.encode())) as first:
        row = make_connection(alice, preset="local", base_url=first.url, model="m")
        for call in (lambda: complete(row, QUESTION), lambda: refresh_listing(row)):
            with pytest.raises(ProviderError) as caught:
                call()
            assert (caught.value.error_type, caught.value.status) == ("redirect", status)
        assert first.connections == 2
    assert listener.connections == 0


def test_an_allowed_neighbour_is_reached_all_the_same(alice: User, names: dict[str, str]) -> None:
    """The tests above would also pass if nothing worked."""
    names["box.example"] = "127.0.0.1"
    with FakeModel() as fake:
        for host in ("127.0.0.1", "2130706433", "0x7f.1", "box.example"):
            row = add_connection(alice, Wish("local", base_url=f"http://{host}:{fake.port}/v1", model="m"))
            assert isinstance(row, Connection) and complete(row, QUESTION).text
