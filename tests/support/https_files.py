"""An https server on loopback that gives files badly on purpose, and a transport that trusts it."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import struct
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from providers import network, transport
from providers.network import Policy


@cache
def certificate() -> tuple[Path, Path]:
    """Files of a certificate for 127.0.0.1 that signs itself, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = Path(tempfile.mkdtemp(prefix="charmem-cert-"))
    (folder / "cert").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    kept = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key").write_bytes(kept)
    return folder / "cert", folder / "key"


@dataclass
class Give:
    """One file. `ranges`: it can be had from the middle; `cut`: the connection ends after so many bytes, once;
    `says_size`: Content-Length is sent; `wait`: nothing more comes after half of it until it is set."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    cut: int | None = None
    says_size: bool = True
    wait: threading.Event | None = None


class HttpsFiles:
    """`with HttpsFiles(files) as server:`; `asked` holds path and Range of every request."""

    def __init__(self, files: dict[str, Give] | None = None) -> None:
        self.files = files or {}
        self.asked: list[tuple[str, str]] = []
        self.hung_up = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers.get("Range", "")))
                self.close_connection = True
                try:
                    _answer(self, outer.files.get(self.path) or Give(b"", 404))
                except OSError:
                    outer.hung_up.set()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_port
        self.root = f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(handler: BaseHTTPRequestHandler, give: Give) -> None:
    begin, status, body = 0, give.status, give.body
    asked = handler.headers.get("Range", "")
    if asked and give.ranges and status == 200:
        begin = int(asked.removeprefix("bytes=").rstrip("-"))
        status = 206 if begin < len(body) else 416
    handler.send_response(status)
    if status == 206:
        handler.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
    if give.ranges:
        handler.send_header("Accept-Ranges", "bytes")
    for name, value in give.headers.items():
        handler.send_header(name, value)
    rest = body[begin:] if status in (200, 206) else b""
    if give.says_size:
        handler.send_header("Content-Length", str(len(rest)))
    handler.end_headers()
    _send(handler, give, rest)


def _send(handler: BaseHTTPRequestHandler, give: Give, rest: bytes) -> None:
    if give.cut is not None:
        most, give.cut = give.cut, None
        handler.wfile.write(rest[:most])
        return
    half = len(rest) // 2
    handler.wfile.write(rest[:half])
    while give.wait is not None and not give.wait.wait(0.05):
        handler.wfile.write(b"")
    handler.wfile.write(rest[half:])


@dataclass(frozen=True)
class OnlyThat(Policy):
    """The real policy, in which this one port of this computer is a public place."""

    port: int = 0

    def refusal(self, scheme: str, address: str, port: int, reach: str) -> str:
        if (scheme, address, port, reach) == ("https", "127.0.0.1", self.port, "custom"):
            return ""
        return super().refusal(scheme, address, port, reach)


def trust(monkeypatch: pytest.MonkeyPatch, server: HttpsFiles) -> Policy:
    """Let the transport trust the server's certificate, and everybody's policy reach it."""
    context = ssl.create_default_context(cafile=certificate()[0])
    policy = OnlyThat(port=server.port)
    monkeypatch.setattr(transport, "_tls", lambda: context)
    monkeypatch.setattr(network, "policy_for", lambda user: policy)
    return policy


def small_gguf(context_length: int = 2048, weights: int = 64) -> bytes:
    """A tiny file that is GGUF in form: a head with one tensor, and bytes behind it."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def entry(name: str, value: int | str) -> bytes:
        if isinstance(value, str):
            return text(name) + struct.pack("<I", 8) + text(value)
        return text(name) + struct.pack("<II", 4, value)

    entries: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "Tiny",
        "llama.context_length": context_length,
        "llama.block_count": 2,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(entries))
    head += b"".join(entry(name, value) for name, value in entries.items())
    head += text("token_embd.weight") + struct.pack("<IQQIQ", 2, 8, weights // 8, 0, 0)
    return head + bytes(range(256)) * 40
