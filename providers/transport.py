"""The only place that imports httpx: pinned addresses, no redirects, no proxies, bounded answers (stack-notes §9.7)."""

from __future__ import annotations

import json
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpcore
import httpx
from django.utils.translation import gettext as _

from providers.foreign_json import storable
from providers.network import Policy, url_problem
from providers.sockets import Gate, PinnedBackend, Silence, Stopped

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 120.0
TOTAL_SECONDS = 900.0
LARGEST_ANSWER = 4 * 1024 * 1024
END_MARKS = (b"data: [DONE]", b"event: message_stop")  # some servers leave the line open after it
AGENT = "CharMem"
EXPECTED = (Silence, Stopped, OSError, zlib.error, httpx.HTTPError, httpx.InvalidURL, httpcore.NetworkError)
PROTECTED_HEADERS = frozenset(
    "host content-length transfer-encoding connection keep-alive cookie authorization x-api-key x-goog-api-key "
    "proxy-authorization proxy-connection te trailer upgrade expect content-type accept-encoding".split()
)


class TransportError(Exception):
    """No complete answer arrived. `kind` is a ProviderError.error_type; message and hint are finished sentences."""

    def __init__(self, kind: str, message: str, hint: str = "", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.retryable = retryable


@dataclass(frozen=True)
class Answer:
    """A complete answer of at most LARGEST_ANSWER bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; broken bytes become replacement characters."""
        return self.body.decode("utf-8-sig", "replace")

    def json(self) -> Any:
        """The body as JSON that can be stored and shown (foreign_json.py); ValueError when it is none."""
        try:
            return storable(json.loads(self.text))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


@dataclass(frozen=True)
class Pieces:
    """An answer that is read piece by piece, however long it is: the reader counts."""

    status: int
    headers: Mapping[str, str]
    body: Iterator[bytes]


class Client:
    """Requests below one base address. One thread at a time; close it, or use it as a context manager."""

    def __init__(self, base_url: str, policy: Policy, *, reach: str, headers: Mapping[str, str], cookies: bool) -> None:
        problem = url_problem(base_url)
        if problem:
            raise TransportError("address", problem)
        self.base_url = base_url.rstrip("/")
        self._policy, self._reach = policy, reach
        self._gate = Gate(CONNECT_SECONDS, IDLE_SECONDS)
        parts = urlsplit(base_url)
        self._scheme = parts.scheme
        self._place = parts.netloc
        self._http = _http_client(self._gate, self._vet, secure=parts.scheme == "https")
        self._http.headers.update({"User-Agent": AGENT, "Accept-Encoding": "identity", **headers})
        self._keeps_cookies = cookies

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Answer:
        return self.request("POST", path, **options)

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        stop: Callable[[], bool] | None = None,
        idle: float = IDLE_SECONDS,
        total: float | None = None,
        largest: int = LARGEST_ANSWER,
    ) -> Answer:
        """One request to base address + path. `idle` and `total` are seconds; `stop()` is asked 4 times a second."""
        self._gate.idle = idle
        self._gate.open(TOTAL_SECONDS if total is None else total, stop)
        if not self._keeps_cookies:
            self._http.cookies.clear()
        if json is not None:
            content = _json_bytes(json)
            headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            with self._http.stream(method, self.base_url + path, content=content, headers=headers) as response:
                body = b"".join(_bounded(response, largest))
                return Answer(response.status_code, response.headers, body)
        except EXPECTED as error:
            raise self._explained(error) from None  # its words may repeat what the server sent

    @contextmanager
    def download(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        stop: Callable[[], bool] | None = None,
        idle: float = IDLE_SECONDS,
        total: float = TOTAL_SECONDS,
    ) -> Iterator[Pieces]:
        """A file. The connection is closed with the block, whatever was read of it."""
        self._gate.idle = idle
        self._gate.open(total, stop)
        if not self._keeps_cookies:
            self._http.cookies.clear()
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(self._http.stream("GET", self.base_url + path, headers=headers))
            except EXPECTED as error:
                raise self._explained(error) from error
            yield Pieces(answer.status_code, answer.headers, self._raw(answer))

    def _raw(self, answer: httpx.Response) -> Iterator[bytes]:
        """Errors of the network only: those of whoever uses a piece are not ours to explain."""
        try:
            yield from answer.iter_raw()
        except EXPECTED as error:
            raise self._explained(error) from error

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _vet(self, host: str, port: int, found: list[str]) -> list[str]:
        for address in found:
            reason = self._policy.refusal(self._scheme, address, port, self._reach)
            if reason:
                hint = _("An admin decides which local networks may be reached: Settings, Models, Networks.")
                raise TransportError("address", reason, hint if self._reach in ("local", "any") else "")
        return found

    def _explained(self, error: Exception) -> TransportError:
        place = {"place": self._place}
        if isinstance(error, Stopped):
            return TransportError("stopped", _("Stopped."))
        if isinstance(error, httpx.InvalidURL):
            return TransportError("address", _("This is not a web address."))
        if isinstance(error, Silence):
            return _silence(error.phase, place, self._gate)
        if isinstance(error, socket.gaierror):
            return TransportError(
                "connect",
                _("The name in the address %(place)s could not be found.") % place,
                _("Check the address for typing mistakes, and whether this server has a network."),
                retryable=True,
            )
        if isinstance(error, ssl.SSLError):
            reason = getattr(error, "verify_message", "") or error.reason or "TLS"
            return TransportError(
                "connect",
                _("No secure connection to %(place)s: %(reason)s.") % {**place, "reason": reason},
                _("Is it an https address? A server in the local network usually speaks http."),
            )
        if isinstance(error, ConnectionRefusedError) or getattr(error, "errno", None) is not None:
            return TransportError(
                "connect",
                _("Nothing answers at %(place)s.") % place,
                _("Is the server running, and is it listening on this address?"),
                retryable=True,
            )
        return TransportError(
            "protocol",
            _("%(place)s closed the connection before the answer was complete.") % place,
            _("It may have crashed or be restarting; try again."),
            retryable=True,
        )


def open_client(
    base_url: str,
    policy: Policy,
    *,
    headers: Mapping[str, str] | None = None,
    cookies: bool = False,
    reach: str = "any",
) -> Client:
    """A pinned client for one base address; raises TransportError("address") when its form is wrong.

    `reach`: hosted, custom, local or any (providers/network.py). Addresses are vetted when it connects. With
    `cookies` it keeps the server's cookies while it lives, otherwise none.
    """
    return Client(base_url, policy, reach=reach, headers=headers or {}, cookies=cookies)


def header_problem(name: str, value: str) -> str:
    """Why a header typed by a person may not be sent, as a sentence; "" when it may."""
    if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
        return _("“%(name)s” is not a header name.") % {"name": name[:40]}
    if name.lower() in PROTECTED_HEADERS:
        return _("The header %(name)s is set by CharMem itself.") % {"name": name}
    if not value.isascii() or any(ord(c) < 32 or ord(c) == 127 for c in value):
        return _("The value of %(name)s may hold only plain characters on one line.") % {"name": name}
    return ""


def _http_client(gate: Gate, vet: Callable[[str, int, list[str]], list[str]], *, secure: bool) -> httpx.Client:
    context = _tls() if secure else _no_tls()
    transport = httpx.HTTPTransport(verify=context, trust_env=False)
    transport._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=PinnedBackend(gate, vet))
    return httpx.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=None)  # noqa: S113  Gate times out


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


@cache
def _no_tls() -> ssl.SSLContext:
    """A context that trusts nobody: building the real one reads hundreds of certificates."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _json_bytes(data: Any) -> bytes:
    """JSON in UTF-8; a lone surrogate half, which UTF-8 cannot carry, becomes U+FFFD."""
    text = json.dumps(data, ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _bounded(response: httpx.Response, largest: int) -> Iterator[bytes]:
    inflate = _inflater(response.headers.get("content-encoding", ""))
    is_stream = "event-stream" in response.headers.get("content-type", "")
    size, tail = 0, b""
    for raw in response.iter_raw():
        piece = inflate.decompress(raw, largest + 1) if inflate else raw
        size += len(piece)
        if size > largest:
            raise TransportError(
                "too_large",
                _("The answer is larger than %(size)d MiB and was not read to the end.") % {"size": largest >> 20},
                _("A language model's answer is never that long: is this the right address?"),
            )
        yield piece
        tail = (tail + piece)[-64:]
        if is_stream and any(mark in tail for mark in END_MARKS):
            return


def _inflater(encoding: str) -> Any:
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    raise TransportError("protocol", _("The answer is packed in a way that was not asked for (%s).") % encoding[:20])


def _silence(phase: str, place: dict[str, str], gate: Gate) -> TransportError:
    if phase in ("resolve", "connect"):
        return TransportError(
            "timeout",
            _("%(place)s could not be reached within %(seconds)d seconds.") % {**place, "seconds": gate.connect},
            _("Is the machine on, and does its firewall let this server in?"),
            retryable=True,
        )
    if phase == "total":
        return TransportError(
            "timeout",
            _("%(place)s did not finish its answer in time.") % place,
            _("A smaller chunk or a faster model helps."),
            retryable=True,
        )
    return TransportError(
        "timeout",
        _("%(place)s was silent for %(seconds)d seconds and was hung up on.") % {**place, "seconds": gate.idle},
        _("The model may be loading or too slow for this computer; try again, or choose a smaller one."),
        retryable=True,
    )
