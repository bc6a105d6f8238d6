"""Sockets for the pinned transport: the vetted address is the one that is connected to, and each wait can be cut short.

httpcore asks this backend for a stream to a host *name*. The backend resolves once, has every address vetted, connects
to a vetted one, and leaves name, Host header and SNI as they are. All waiting happens in slices, so that a stop is
obeyed within a quarter of a second.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import httpcore

SLICE = 0.25
Vet = Callable[[str, int, list[str]], list[str]]


class Stopped(Exception):
    """Somebody asked to stop while we were waiting."""


class Silence(Exception):
    """A time limit ran out; `phase` is "resolve", "connect", "read", "write" or "total"."""

    def __init__(self, phase: str) -> None:
        super().__init__(phase)
        self.phase = phase


class Gate:
    """The limits of one request: when to give up, and who may stop it."""

    def __init__(self, connect: float, idle: float) -> None:
        self.connect = connect
        self.idle = idle
        self.ends_at = float("inf")
        self.stop: Callable[[], bool] | None = None

    def open(self, total: float, stop: Callable[[], bool] | None) -> None:
        """Start the clock of one request."""
        self.ends_at = time.monotonic() + total
        self.stop = stop

    def check(self, phase: str, until: float) -> float:
        """Seconds of the next slice; raises Stopped or Silence."""
        if self.stop is not None and self.stop():
            raise Stopped
        now = time.monotonic()
        if now >= self.ends_at:
            raise Silence("total")
        if now >= until:
            raise Silence(phase)
        return min(SLICE, until - now, self.ends_at - now)

    def wait(self, sock: socket.socket, *, write: bool, phase: str, until: float) -> None:
        """Return when the socket is ready."""
        while True:
            seconds = self.check(phase, until)
            waiting = ([], [sock], [sock]) if write else ([sock], [], [sock])
            if any(select.select(*waiting, seconds)):
                return


class Stream(httpcore.NetworkStream):
    """A non-blocking socket, plain or TLS, behind httpcore's interface."""

    def __init__(self, sock: socket.socket, gate: Gate) -> None:
        self._sock = sock
        self._gate = gate

    def _perform(self, action: Callable[[], Any], phase: str, seconds: float, *, write: bool) -> Any:
        until = time.monotonic() + seconds
        while True:
            try:
                return action()
            except (BlockingIOError, ssl.SSLWantReadError):
                self._gate.wait(self._sock, write=write and not self._is_tls, phase=phase, until=until)
            except ssl.SSLWantWriteError:
                self._gate.wait(self._sock, write=True, phase=phase, until=until)

    @property
    def _is_tls(self) -> bool:
        return isinstance(self._sock, ssl.SSLSocket)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return bytes(self._perform(lambda: self._sock.recv(max_bytes), "read", self._gate.idle, write=False))
        except ssl.SSLEOFError:
            return b""
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        try:
            while view:
                sent = self._perform(partial(self._sock.send, view), "write", self._gate.idle, write=True)
                view = view[sent:]
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secure = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname, do_handshake_on_connect=False)
        stream = Stream(secure, self._gate)
        try:
            stream._perform(secure.do_handshake, "connect", self._gate.connect, write=False)
        except BaseException:
            secure.close()
            raise
        return stream

    def get_extra_info(self, info: str) -> Any:
        if info == "socket":
            return self._sock
        if info == "server_addr":
            return self._sock.getpeername()
        if info == "ssl_object" and self._is_tls:
            return self._sock
        if info == "is_readable":
            return bool(select.select([self._sock], [], [], 0)[0])
        return None


class PinnedBackend(httpcore.NetworkBackend):
    """Resolve once, vet every address, connect to a vetted one."""

    def __init__(self, gate: Gate, vet: Vet) -> None:
        self._gate = gate
        self._vet = vet

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = self._vet(host, port, resolve(host, port, self._gate))
        problem: Exception = Silence("connect")
        for address in addresses[:4]:
            try:
                return Stream(self._connect(address, port), self._gate)
            except (OSError, Silence) as error:
                problem = error
        raise problem

    def _connect(self, address: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                sock.connect((address, port))
            except BlockingIOError:
                until = time.monotonic() + self._gate.connect
                self._gate.wait(sock, write=True, phase="connect", until=until)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, errno.errorcode.get(code, "connection failed"))
            return sock
        except BaseException:
            sock.close()
            raise


def resolve(host: str, port: int, gate: Gate) -> list[str]:
    """All addresses of a name, in the system's order. The look-up runs aside, because it cannot be interrupted."""
    found: list[Any] = []

    def look_up() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.append(error)

    thread = threading.Thread(target=look_up, name="resolve", daemon=True)
    thread.start()
    until = time.monotonic() + gate.connect
    while thread.is_alive():
        thread.join(gate.check("resolve", until))
    if isinstance(found[0], Exception):
        raise socket.gaierror(str(found[0]))
    return list(dict.fromkeys(str(row[4][0]) for row in found[0]))
