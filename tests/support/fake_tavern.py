"""SillyTavern's server as far as CharMem asks it: sessions, accounts, collections on disk, models. On loopback."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class FakeTavern:
    """Works on the vectors folder below `user_folder`. `calls` lists every POST as (path, body).

    `accounts` maps handles to passwords (accounts mode); `embed_status` is what an insert answers. `says` are the
    answers to questions for a model, as (status, JSON or text), the last one again and again.
    """

    def __init__(self, user_folder: Path, *, accounts: dict[str, str] | None = None) -> None:
        self.user_folder = user_folder
        self.accounts = accounts
        self.calls: list[tuple[str, Any]] = []
        self.embed_status = 200
        self.says: list[tuple[int, Any]] = []
        self.cookie = "session-1"  # another name: every session is forgotten
        self.sessions = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def collection(self, source: str, name: str, model: str = "") -> Path:
        return self.user_folder / "vectors" / source / name / model / "index.json"

    def texts(self, source: str, name: str, model: str = "") -> list[str]:
        """The texts of a collection in file order."""
        items = json.loads(self.collection(source, name, model).read_text(encoding="utf-8"))["items"]
        return [item["metadata"]["text"] for item in items]

    def count(self, path: str) -> int:
        return sum(called == path for called, _body in self.calls)

    def answer(self, path: str, body: Any, handle: str | None) -> tuple[int, Any]:
        """Status and body of a POST with a good token."""
        self.calls.append((path, body))
        if self.accounts is not None and handle is None:
            return 403, "Forbidden"
        if path.startswith("/api/backends/"):
            return self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if path == "/api/vector/insert":
            return self._insert(body)
        if path == "/api/vector/list":
            file = self._file(body)
            items = json.loads(file.read_text(encoding="utf-8"))["items"] if file.is_file() else []
            return 200, [item["metadata"]["hash"] for item in items]
        if path == "/api/vector/purge":
            for source in (self.user_folder / "vectors").iterdir():
                shutil.rmtree(source / body["collectionId"], ignore_errors=True)
            return 200, "OK"
        return 404, "no such route"

    def _insert(self, body: Any) -> tuple[int, Any]:
        if self.embed_status != 200:
            return self.embed_status, "embedder"
        if any(not item["text"].strip() for item in body["items"]):
            return 500, "empty text cannot be embedded"
        file = self._file(body)
        file.parent.mkdir(parents=True, exist_ok=True)
        index = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"version": 1, "items": []}
        index["items"] += [{"metadata": item, "vector": [1.0], "norm": 1.0} for item in body["items"]]
        file.write_text(json.dumps(index), encoding="utf-8")
        return 200, "OK"

    def _file(self, body: Any) -> Path:
        return self.collection(body["source"], body["collectionId"], body.get("model", ""))


def _handler(tavern: FakeTavern) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/csrf-token":
                tavern.sessions += 1
                return self._say(200, {"token": "t0ken"}, cookie=f"{tavern.cookie}=open")
            if self.path == "/version":
                return self._say(200, {"pkgVersion": "1.19.0"})
            if self.path == "/api/users/me":
                handle = "default-user" if tavern.accounts is None else self._handle()
                return self._say(200, {"handle": handle}) if handle else self._say(403, "Forbidden")
            return self._say(404, "no such route")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers.get("X-CSRF-Token") != "t0ken" or tavern.cookie not in (self.headers.get("Cookie") or ""):
                return self._say(403, "<pre>Forbidden</pre>")
            if self.path == "/api/users/login":
                if (tavern.accounts or {}).get(body["handle"]) != body["password"]:
                    return self._say(403, {"error": "Incorrect credentials"})
                return self._say(200, {"handle": body["handle"]}, cookie=f"{tavern.cookie}={body['handle']}")
            return self._say(*tavern.answer(self.path, body, self._handle()))

        def _handle(self) -> str | None:
            value = (self.headers.get("Cookie") or "").partition(f"{tavern.cookie}=")[2].partition(";")[0]
            return None if value in ("", "open") else value

        def _say(self, status: int, body: Any, cookie: str = "") -> None:
            data = json.dumps(body).encode() if not isinstance(body, str) else body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            if cookie:
                self.send_header("Set-Cookie", f"{cookie}; Path=/")
            self.end_headers()
            self.wfile.write(data)

    return Handler
