"""The pinned transport against real sockets: it reaches what it may, and lets go when it should."""

from __future__ import annotations

import gzip
import ipaddress
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from providers import transport
from providers.network import Policy
from providers.transport import TransportError, open_client
from tests.support.fake_model import FakeModel
from tests.support.raw_server import HEAD, RawServer, broken_off, dripping, endless, says, silent

NEVER = "{} is a kind of address that CharMem never talks to."
LOCAL_HERE = "{} is an address in a local network: choose “Local server” for it."
LOOPBACK = Policy(local_networks=(ipaddress.ip_network("127.0.0.0/8"),))


def failure(url: str, policy: Policy = LOOPBACK, reach: str = "local", **options: Any) -> TransportError:
    with open_client(url, policy, reach=reach) as client, pytest.raises(TransportError) as caught:
        client.post("/chat/completions", json={}, **options)
    return caught.value


def test_it_speaks_http_with_its_own_headers() -> None:
    with FakeModel() as fake, open_client(fake.base_url, LOOPBACK, headers={"X-A": "b"}) as client:
        answer = client.post("/chat/completions", json={"messages": [{"content": "hi \ud800"}]})
        again = client.get("/models")
    assert answer.status == 200 and answer.json()["choices"] and again.json()["object"] == "list"
    sent = fake.requests[0].headers
    assert sent["X-A"] == "b" and sent["User-Agent"] == "CharMem" and sent["Host"] == f"127.0.0.1:{fake.port}"


def test_the_vetted_address_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves differently between check and use gains nothing: it is resolved once."""
    answers = ["127.0.0.1", "169.254.169.254", "10.0.0.1"]
    asked: list[str] = []

    def look_up(host: str, port: int, **options: Any) -> list[Any]:
        asked.append(host)
        address = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with FakeModel() as fake:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        with open_client(f"http://box.example:{fake.port}/v1", LOOPBACK, reach="local") as client:
            assert client.get("/models").status == 200
        assert asked == ["box.example"] and fake.requests[0].headers["Host"] == f"box.example:{fake.port}"
        error = failure(f"http://box.example:{fake.port}/v1")
        assert error.kind == "address" and len(fake.requests) == 1
    assert error.message == NEVER.format("169.254.169.254")


def test_one_bad_address_among_good_ones_refuses_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 8080)) for a in ("127.0.0.1", "169.254.169.254")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: rows)
    assert failure("http://box.example:8080").kind == "address"


@pytest.mark.parametrize(
    ("url", "reach", "sentence"),
    [
        ("http://127.0.0.1:22", "local", "Port 22 is not used by model servers; CharMem does not talk to it."),
        ("http://192.168.7.7:5001", "local", "192.168.7.7 is in a local network that is not allowed here."),
        (
            "http://[::ffff:169.254.169.254]:80",
            "local",
            NEVER.format("169.254.169.254"),
        ),
        ("http://0.0.0.0:5001", "local", NEVER.format("0.0.0.0")),
        (
            "http://2130706433:5001",
            "custom",
            LOCAL_HERE.format("127.0.0.1"),
        ),
        ("http://1.1.1.1", "any", "Outside the local network only https addresses are allowed."),
        ("https://1.1.1.1", "local", "1.1.1.1 is not in a local network: choose “Another (OpenAI-compatible)” for it."),
    ],
)
def test_addresses_that_are_refused(url: str, reach: str, sentence: str) -> None:
    error = failure(url, reach=reach)
    assert (error.kind, error.message) == ("address", sentence)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://127.0.0.1", "An address starts with http:// or https:// and names a server."),
        ("file:///etc/passwd", "An address starts with http:// or https:// and names a server."),
        ("http://me:pw@127.0.0.1:5001", "An address may not contain a name and password; use the key field."),
        ("http://127.0.0.1:99999", "This is not a web address."),
        ("http://127.0.0.1:5001/a b", "This is not a web address."),
        ("http://[::1", "This is not a web address."),
    ],
)
def test_addresses_that_are_none(url: str, sentence: str) -> None:
    with pytest.raises(TransportError) as caught:
        open_client(url, LOOPBACK)
    assert caught.value.message == sentence


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nobody_listens() -> None:
    port = free_port()
    error = failure(f"http://127.0.0.1:{port}/v1")
    assert error.kind == "connect" and error.retryable
    assert error.message == f"Nothing answers at 127.0.0.1:{port}."
    assert error.hint == "Is the server running, and is it listening on this address?"


def test_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*args: Any, **options: Any) -> list[Any]:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    error = failure("http://nowhere.invalid:5001")
    assert error.message == "The name in the address nowhere.invalid:5001 could not be found."
    assert error.hint == "Check the address for typing mistakes, and whether this server has a network."


def test_plain_http_where_https_was_expected() -> None:
    with FakeModel() as fake:
        error = failure(f"https://127.0.0.1:{fake.port}")
    assert error.message.startswith(f"No secure connection to 127.0.0.1:{fake.port}: ")
    assert error.hint == "Is it an https address? A server in the local network usually speaks http."


def test_a_server_that_hangs_is_hung_up_on() -> None:
    with RawServer(silent) as server:
        error = failure(server.url, idle=0.3)
        assert server.hung_up.wait(5)
    assert (error.kind, error.retryable) == ("timeout", True)
    assert error.message == f"127.0.0.1:{server.port} was silent for 0 seconds and was hung up on."


def test_dripping_bytes_do_not_keep_a_call_alive() -> None:
    with RawServer(dripping) as server:
        error = failure(server.url, total=0.5)
        assert server.hung_up.wait(5)
    assert error.message == f"127.0.0.1:{server.port} did not finish its answer in time."


@pytest.mark.parametrize("talk", [silent, dripping])
def test_stop_closes_the_connection_within_two_seconds(talk: Callable[..., None]) -> None:
    stop = threading.Event()
    with RawServer(talk) as server:
        threading.Timer(0.3, stop.set).start()
        started = time.monotonic()
        error = failure(server.url, stop=stop.is_set)
        assert time.monotonic() - started < 2
        assert server.hung_up.wait(5)
    assert error.kind == "stopped"


def test_a_huge_answer_is_not_read_to_the_end() -> None:
    with RawServer(endless) as server:
        error = failure(server.url)
        assert server.hung_up.wait(5)
    assert error.message == "The answer is larger than 4 MiB and was not read to the end."


def test_a_packed_bomb_is_measured_unpacked() -> None:
    packed = gzip.compress(b" " * (64 << 20))
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    with RawServer(says(head + packed)) as server:
        assert failure(server.url).kind == "too_large"
    small = gzip.compress(b'{"a": 1}')
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(small)}\r\n\r\n".encode()
    with RawServer(says(head + small)) as server, open_client(server.url, LOOPBACK) as client:
        assert client.get("/x").json() == {"a": 1}


def test_an_answer_that_breaks_off() -> None:
    with RawServer(broken_off) as server:
        error = failure(server.url)
    assert error.retryable
    assert error.message == f"127.0.0.1:{server.port} closed the connection before the answer was complete."


def test_something_that_is_not_http() -> None:
    with RawServer(says(b"SSH-2.0-OpenSSH_9.6\r\n")) as server:
        assert failure(server.url).kind == "protocol"


def test_redirects_and_proxies_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with FakeModel() as fake, open_client(fake.base_url, LOOPBACK) as client:
        fake.respond(302, "", headers={"Location": "http://169.254.169.254/"})
        assert client.post("/chat/completions", json={}).status == 302
        assert len(fake.requests) == 1


def test_cookies_are_kept_only_on_request() -> None:
    for cookies in (False, True):
        with FakeModel() as fake, open_client(fake.base_url, LOOPBACK, cookies=cookies) as client:
            fake.respond(200, {}, headers={"Set-Cookie": "session=1; Path=/"})
            client.post("/chat/completions", json={})
            client.get("/models")
            assert ("Cookie" in fake.requests[1].headers) is cookies


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("X-Team", "home", ""),
        ("Host", "evil", "The header Host is set by CharMem itself."),
        ("authorization", "x", "The header authorization is set by CharMem itself."),
        ("X-Team", "a\r\nHost: evil", "The value of X-Team may hold only plain characters on one line."),
        ("X Team", "a", "“X Team” is not a header name."),
        ("", "a", "“” is not a header name."),
    ],
)
def test_headers_typed_by_people(name: str, value: str, sentence: str) -> None:
    assert transport.header_problem(name, value) == sentence


def test_an_answer_that_is_packed_wrongly() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    with RawServer(says(head + b"nope")) as server:
        assert failure(server.url).kind == "protocol"
