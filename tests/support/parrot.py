"""A server that repeats all that it was told, question and key, in every kind of trouble that a server can make."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

from tests.support.fake_model import prompt_of
from tests.support.native import NATIVE, Native
from tests.support.native_streams import STREAMS, lines
from tests.support.raw_server import RawServer, silent

STATUSES = (400, 401, 402, 403, 404, 405, 408, 413, 422, 500, 503, 529)
ENDINGS = (
    *map(str, STATUSES),
    *("429 for a minute", "429", "302", "502 page", "200 page", "200 with error", "200 with code", "error as text"),
    *("not json", "a list", "cut json", "odd pieces", "stream", "cut stream", "error in stream", "refusal", "thoughts"),
    *("tool", "nothing", "silence", "half", "broken off", "endless", "no http", "odd head", "wrongly packed", "gone"),
)


class Parrot(RawServer):
    """`how` is one of ENDINGS, `wire` the format in which it speaks; it says so to every request."""

    def __init__(self, wire: str, how: str) -> None:
        super().__init__(self._speak)
        self.wire, self.how = wire, how

    @property
    def question(self) -> str:
        return prompt_of(json.loads(self.heard.partition(b"\r\n\r\n")[2] or b"{}"))

    @property
    def echo(self) -> str:
        """What was asked and every header, in one text."""
        head = self.heard.partition(b"\r\n\r\n")[0].decode()
        return f"You asked {self.question!r} and sent {head!r}. In all: {self.question} {head}"

    def _speak(self, connection: socket.socket, closing: threading.Event) -> None:
        if self.how == "gone":
            return
        connection.sendall(self._bytes())
        if self.how in ("silence", "half"):
            silent(connection, closing)
        while self.how == "endless" and not closing.is_set():
            piece = (self.echo.encode() * 100)[:60_000]
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _bytes(self) -> bytes:
        line = " ".join(self.echo.split())
        body = json.dumps(self._native(NATIVE[self.wire], line)).encode()
        match self.how:
            case "silence":
                return b""
            case "half" | "broken off":
                return b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + body
            case "endless":
                return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            case "no http":
                return f"{line}\r\n\r\n".encode()
            case "odd head":
                return f"HTTP/1.1 200 OK\r\n{line}\r\n\r\n".encode()
            case "wrongly packed":
                return self._http(200, self.echo.encode(), "Content-Encoding: gzip")
            case "not json":
                return self._http(200, self.echo.encode())
            case "cut json":
                return self._http(200, body[:-1])
            case "error as text":
                return self._http(500, self.echo.encode(), "Content-Type: text/plain")
            case "502 page" | "200 page":
                page = f"<!doctype html><html><title>{line}</title>{self.echo}</html>".encode()
                return self._http(int(self.how[:3]), page, "Content-Type: text/html")
            case "stream" | "cut stream" | "error in stream":
                return self._http(200, self._stream(line).encode(), "Content-Type: text/event-stream")
            case "429 for a minute":
                return self._http(429, body, "Retry-After: 60")
            case how:
                return self._http(int(how) if how.isdigit() else 200, body)

    def _native(self, native: Native, line: str) -> Any:
        """The JSON of the ending: an error, unless it is another one."""
        error = native.error(400, f"{line} {self.echo}")
        error["error"] |= {"code": line, "type": line, "param": line}
        match self.how:
            case "200 with code":
                return native.error(503, line) | {"error": {"code": 503, "message": line}}
            case "a list":
                return [line]
            case "odd pieces":
                return {"choices": [line], "candidates": {line: line}, "content": {line: 5}, "usage": line}
            case "refusal" if self.wire == "openai":
                return native.answer(None, refusal=line)
            case "refusal" | "tool" | "nothing":
                return {**getattr(native, self.how), "said": line}
            case "thoughts":
                return json.loads(json.dumps(native.only_thought).replace("Hm.", json.dumps(line)[1:-1]))
        return error

    def _stream(self, line: str) -> str:
        if self.how == "error in stream":
            return lines([{"type": "error", "error": {"type": "overloaded_error", "message": line}}])
        whole = STREAMS[self.wire](thought=line, finish="length")
        return whole if self.how == "stream" else whole[: len(whole) // 2]

    def _http(self, status: int, body: bytes, *more: str) -> bytes:
        """An answer whose headers repeat the question and the key, too."""
        line = " ".join(self.echo.split()).encode("ascii", "replace").decode()[:3000]
        said = [f"{name}: {line}" for name in ("X-Said", "WWW-Authenticate", "Server", "Set-Cookie")]
        kind = [] if any(one.startswith("Content-Type") for one in more) else ["Content-Type: application/json"]
        place = ["Location: http://127.0.0.1:1/?" + "".join(c for c in line if c.isalnum())]
        head = [f"HTTP/1.1 {status} {line[:200]}", f"Content-Length: {len(body)}", *kind, *more, *said, *place]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body
