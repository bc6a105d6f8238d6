"""A model file over https: redirects, limits, going on after a cut, and the checksum; over a real server."""

from __future__ import annotations

import hashlib
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.wording import size
from providers import downloads, transport
from providers.downloads import DownloadError, Wanted
from tests.support.https_files import Give, HttpsFiles, small_gguf, trust
from tests.support.raw_server import RawServer, silent

BODY = small_gguf()
SUM = hashlib.sha256(BODY).hexdigest()
PUBLIC_ONLY = "The address leads to a place that is not public. Models are downloaded from public addresses only."


class Desk:
    """A server with files, and a place for what arrives."""

    def __init__(self, server: HttpsFiles, part: Path, policy: object) -> None:
        self.server, self.part, self.policy = server, part, policy
        self.told: list[tuple[int, int | None]] = []
        self.stops = self.is_enough = False

    def fetch(self, path: str = "/m.gguf", sha256: str = SUM, largest: int = 10**6) -> bool:
        wanted = Wanted(self.server.root + path, sha256, largest, self.policy)  # type: ignore[arg-type]
        return downloads.fetch(
            wanted,
            self.part,
            stop=lambda: self.stops,
            enough=lambda: self.is_enough,
            tell=lambda done, total: self.told.append((done, total)),
        )

    def failure(self, *args: object, **options: object) -> DownloadError:
        with pytest.raises(DownloadError) as caught:
            self.fetch(*args, **options)  # type: ignore[arg-type]
        return caught.value


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Desk]:
    with HttpsFiles({"/m.gguf": Give(BODY)}) as server:
        yield Desk(server, tmp_path / "part", trust(monkeypatch, server))


def lead(desk: Desk, *places: str) -> None:
    """/1 leads to /2, …, the last one to /m.gguf, or the given places."""
    targets = [*(f"/{n}" for n in range(2, len(places) + 1)), "/m.gguf"]
    for n, (place, target) in enumerate(zip(places, targets, strict=True), 1):
        desk.server.files[f"/{n}"] = Give(b"", 302, {"Location": place or target})


def test_a_file_arrives_whole_and_says_how_far_it_is(desk: Desk) -> None:
    assert desk.fetch()
    assert desk.part.read_bytes() == BODY
    assert desk.told[-1] == (len(BODY), len(BODY))
    assert desk.part.stat().st_mode & 0o777 == 0o600


def test_three_redirects_are_followed_and_four_are_not(desk: Desk) -> None:
    lead(desk, "", "", "")
    assert desk.fetch("/1")
    lead(desk, "", "", "", "")
    desk.part.unlink()
    error = desk.failure("/1")
    assert (error.kind, error.message) == ("redirect", "The address leads on more than 3 times.")
    assert [path for path, _range in desk.server.asked[-4:]] == ["/1", "/2", "/3", "/4"]
    assert not desk.part.exists()


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("https://10.0.0.7/m.gguf", PUBLIC_ONLY),
        ("https://169.254.169.254/latest/", PUBLIC_ONLY),
        ("https://[::ffff:127.0.0.1]/m.gguf", PUBLIC_ONLY),
        ("https://127.0.0.1:9/m.gguf", PUBLIC_ONLY),
        ("http://127.0.0.1/m.gguf", "Models are downloaded from https addresses only."),
        ("file:///etc/passwd", "Models are downloaded from https addresses only."),
        ("https://me:pw@127.0.0.1/m", "An address may not contain a name and password; use the key field."),
    ],
)
def test_each_redirect_is_vetted_anew(desk: Desk, place: str, sentence: str) -> None:
    lead(desk, place)
    error = desk.failure("/1")
    assert (error.kind, error.message, error.retryable) == ("address", sentence, False)
    assert len(desk.server.asked) == 1


@pytest.mark.parametrize("found", [["10.0.0.7"], ["127.0.0.1"], ["93.184.215.14", "169.254.169.254"]])
def test_a_name_that_leads_into_a_local_network(desk: Desk, monkeypatch: pytest.MonkeyPatch, found: list[str]) -> None:
    """Whatever the name said when the address was typed: it is vetted when it is connected to."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, **options: Any) -> list[Any]:
        if host != "models.example":
            return real(host, port, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    lead(desk, "https://models.example/m.gguf")
    error = desk.failure("/1")
    assert (error.kind, error.message) == ("address", PUBLIC_ONLY)


def test_a_wrong_checksum_leaves_nothing(desk: Desk) -> None:
    error = desk.failure(sha256="0" * 64)
    assert error.kind == "sum" and not error.retryable
    assert error.message == "The file is complete, but its SHA-256 is another one than you gave. It was removed."
    assert not desk.part.exists()


@pytest.mark.parametrize("says_size", [True, False])
def test_a_file_that_is_too_large_is_not_kept(desk: Desk, says_size: bool) -> None:
    desk.server.files["/m.gguf"] = Give(BODY, says_size=says_size)
    error = desk.failure(largest=5000)
    assert error.kind == "too_large" and "5 kB" in error.message
    assert not desk.part.exists()


@pytest.mark.parametrize("body", [b"<!doctype html><title>Log in</title>", b"GGU", b"", b"GGXX" + BODY])
def test_what_is_no_gguf_ends_with_its_first_bytes(desk: Desk, body: bytes) -> None:
    desk.server.files["/m.gguf"] = Give(body)
    error = desk.failure()
    assert (error.kind, error.message) == ("magic", "What the address gives is no GGUF file. Nothing was kept.")
    assert not desk.part.exists()


def test_it_goes_on_behind_what_arrived(desk: Desk) -> None:
    desk.server.files["/m.gguf"] = Give(BODY, cut=4000)
    error = desk.failure()
    assert (error.kind, error.retryable) == ("protocol", True)
    assert desk.part.read_bytes() == BODY[:4000]
    assert desk.fetch()
    assert desk.server.asked[-1] == ("/m.gguf", "bytes=4000-")
    assert desk.part.read_bytes() == BODY


def test_without_ranges_it_begins_anew(desk: Desk) -> None:
    desk.server.files["/m.gguf"] = Give(BODY, cut=4000, ranges=False)
    desk.failure()
    desk.is_enough = True  # nobody asks: a chunk would never end
    assert desk.fetch()
    assert desk.part.read_bytes() == BODY


def test_it_can_be_had_in_chunks(desk: Desk) -> None:
    desk.is_enough = True
    desk.server.files["/m.gguf"] = Give(BODY, wait=threading.Event())
    assert not desk.fetch()
    assert 0 < desk.part.stat().st_size < len(BODY)
    desk.server.files["/m.gguf"] = Give(BODY)
    desk.is_enough = False
    assert desk.fetch()


def test_what_was_left_of_another_file_is_found_out(desk: Desk) -> None:
    desk.part.write_bytes(b"GGUF" + b"x" * 3000)
    error = desk.failure()
    assert error.kind == "sum" and error.retryable
    assert desk.fetch()


def test_a_whole_file_that_was_not_checked_yet_is_only_checked(desk: Desk) -> None:
    desk.part.write_bytes(BODY)
    assert desk.fetch()
    assert desk.server.asked == [("/m.gguf", f"bytes={len(BODY)}-")]


def test_a_full_disk_is_said_before_anything_is_written(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=downloads.KEPT_FREE + 5000))
    error = desk.failure()
    assert error.kind == "space" and not error.retryable
    assert error.message == (
        f"There is not enough room on the disk: {size(len(BODY))} are still to come, and 1 GB are free."
    )
    assert not desk.part.exists()


def test_a_disk_that_fills_up_meanwhile_ends_it_and_what_arrived_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([10**12, 0])
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=next(free)))
    monkeypatch.setattr(downloads, "LOOK_EVERY", 1000)
    desk.server.files["/m.gguf"] = Give(BODY, wait=threading.Event())
    assert desk.failure().kind == "space"
    assert 0 < desk.part.stat().st_size < len(BODY)


def test_stop_keeps_what_arrived_and_hangs_up(desk: Desk) -> None:
    desk.server.files["/m.gguf"] = Give(BODY, wait=threading.Event())
    done = threading.Timer(0.5, lambda: setattr(desk, "stops", True))
    done.start()
    error = desk.failure()
    assert error.kind == "stopped"
    assert 0 < desk.part.stat().st_size < len(BODY)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [(401, "forbidden", False), (404, "not_found", False), (429, "server", True), (503, "server", True)],
)
def test_errors_of_the_server(desk: Desk, status: int, kind: str, retryable: bool) -> None:
    desk.server.files["/m.gguf"] = Give(BODY, status)
    error = desk.failure()
    assert (error.kind, error.retryable) == (kind, retryable)
    assert str(status) in error.message


def test_another_part_than_the_one_asked_for(desk: Desk) -> None:
    desk.part.write_bytes(BODY[:100])
    desk.server.files["/m.gguf"] = Give(BODY, 206, {"Content-Range": f"bytes 0-9/{len(BODY)}"})
    assert desk.failure().kind == "protocol"


def test_a_server_that_nobody_vouches_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_tls", transport._no_tls)
    error = desk.failure()
    assert error.kind == "connect" and error.message.startswith("No secure connection to 127.0.0.1:")
    with RawServer(silent) as server:
        assert downloads.address_problem(server.url) == "Models are downloaded from https addresses only."
