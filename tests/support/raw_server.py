"""A socket that behaves badly on purpose: each connection is handed to a function."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

Talk = Callable[[socket.socket, threading.Event], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class RawServer:
    """`with RawServer(talk) as server:` listens on 127.0.0.1; `talk(connection, closing)` runs for each connection.

    `hung_up` is set when a talk saw the other side close.
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._closing = threading.Event()
        self.hung_up = threading.Event()
        self.connections = 0
        self.heard = b""  # the newest request as it came
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.url = self.base_url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        with suppress(OSError):  # closing alone leaves the thread waiting at a number that another server gets
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _address = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self.heard = _request(connection)
                self._talk(connection, self._closing)
            except OSError:
                self.hung_up.set()


def _request(connection: socket.socket) -> bytes:
    """A whole request: its head, and as much after it as the head says."""
    heard = b""
    while piece := connection.recv(65536):
        heard += piece
        head, blank, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if blank and len(body) >= (int(length[1]) if length else 0):
            break
    return heard


def silent(connection: socket.socket, closing: threading.Event) -> None:
    """Says nothing until the other side hangs up."""
    connection.settimeout(0.05)
    while not closing.is_set():
        try:
            if connection.recv(10) == b"":
                raise ConnectionResetError
        except TimeoutError:
            continue


def dripping(connection: socket.socket, closing: threading.Event) -> None:
    """A byte now and then, for ever."""
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while not closing.wait(0.02):
        connection.sendall(b"1\r\n \r\n")


def pausing(connection: socket.socket, closing: threading.Event) -> None:
    """Half an answer, then silence."""
    connection.sendall(HEAD + b'Content-Length: 1000\r\n\r\n{"choices": [')
    silent(connection, closing)


def endless(connection: socket.socket, closing: threading.Event) -> None:
    """An answer that never ends, as fast as it goes."""
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not closing.is_set():
        connection.sendall(piece)


def broken_off(connection: socket.socket, closing: threading.Event) -> None:
    """Half an answer, then nothing more."""
    connection.sendall(HEAD + b'Content-Length: 1000\r\n\r\n{"choices": [')


def says(data: bytes) -> Talk:
    """Exactly these bytes."""

    def talk(connection: socket.socket, closing: threading.Event) -> None:
        connection.sendall(data)

    return talk
