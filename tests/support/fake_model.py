"""A model server of standard library parts: OpenAI's wire, Anthropic's, Google's, Ollama's, embeddings; on loopback.

    with FakeModel() as fake:
        fake.base_url                      # "http://127.0.0.1:41234/v1" for preset "local"
        fake.requests                      # every request so far: method, path, headers, body (parsed JSON)
        fake.answer_with("…")              # this text for every following chat request
        fake.answers("first", "second")    # one text each, then the default again
        fake.rule = rule                   # rule(prompt) gives the text before all other scripts; None: as without it
        fake.respond(500, {"error": …})    # one raw response next (repeatable; queue order); str/bytes body too
        fake.latency = 0.3                 # seconds before each answer
        fake.max_in_flight                 # most requests that were being answered at the same moment

Without a script, a chat request is answered with a `<memory>` block made from the prompt: a topic tag and up to three
bullets, each the first words of a message line ("[#12] Name: text", "Name: text" …), so that another chat gives
another memory and the same chat the same one. `usage` counts words of prompt and answer. `stream: true` is answered as
SSE, `fake.stream_always = True` does so unasked. `/v1/embeddings`, `/api/embed`, `/api/embeddings` return
deterministic bag-of-words vectors (64 numbers, length 1): texts that share words are near each other, and a text gets
the vector of another one with `fake.means[text] = other`; `fake.embeds_with = 500` refuses them. Like real
servers it knows nothing at `/models` and `/chat/completions` without the `/v1`, unless `fake.needs_version = False`.
Addresses below `/v1beta` are Google's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSIONS = 64
CHAT_ENDINGS = ("/chat/completions", "/messages", "/api/chat", ":generateContent")
LINE = re.compile(r"^(?:\[?#?\d+\]?[:.)]?\s*)?(?P<name>[^\s:<\[][^:<\n]{0,40}):\s+(?P<text>\S.*)$", re.MULTILINE)


@dataclass
class Recorded:
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    query: str = ""


@dataclass
class Scripted:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    hang: threading.Event | None = None


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def vector(text: str) -> list[float]:
    """A bag of hashed words, normalised; an empty text gets a fixed direction."""
    numbers = [0.0] * DIMENSIONS
    for word in words(text) or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        numbers[digest[0] % DIMENSIONS] += 1.0 if digest[1] % 2 else -1.0
        numbers[digest[2] % DIMENSIONS] += 0.5
    length = math.sqrt(sum(n * n for n in numbers)) or 1.0
    return [n / length for n in numbers]


def memory_answer(prompt: str, marker: str = "") -> str:
    """The default answer: what the last lines of the prompt's conversation say, in CharMem's memory format."""
    found = [m for m in LINE.finditer(prompt) if len(words(m["text"])) >= 3][-3:]
    if not found:
        return "NO_NEW_MEMORIES"
    names = list(dict.fromkeys(m["name"].strip() for m in found))
    bullets = [f"- {m['name'].strip()} said that {' '.join(m['text'].split()[:12])}{marker}" for m in found]
    return "\n".join(["<memory>", f"- [{', '.join(names)} — talk]", *bullets, "</memory>"])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class FakeModel:
    """See the module's docstring. `models` is the list of ids that /v1/models offers."""

    def __init__(self, *, models: tuple[str, ...] = ("fake-small", "fake-large"), key: str = "") -> None:
        self.models = models
        self.facts: dict[str, dict[str, Any]] = {}  # what /v1/models says of a model beside its id
        self.included: tuple[str, ...] | None = None  # what /subscription/v1/models lists; None: there is no such list
        self.key = key
        self.needs_version = True
        self.embeds_with = 200  # another status: every request for vectors is refused with it
        self.means: dict[str, str] = {}  # text: another one whose vector it gets
        self.latency = 0.0
        self.stream_always = False
        self.finish_reason = "stop"
        self.requests: list[Recorded] = []
        self.max_in_flight = 0
        self._in_flight = 0
        self._default: str | None = None
        self.rule: Callable[[str], str | None] = lambda _prompt: None
        self._queue: deque[Scripted | str] = deque()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.root_url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer_with(self, text: str | None) -> None:
        self._default = text

    def answers(self, *texts: str) -> None:
        self._queue.extend(texts)

    def respond(self, status: int, body: Any = "", *, headers: dict[str, str] | None = None, times: int = 1) -> None:
        """Queue `times` raw responses: dict and list bodies go out as JSON, text as text/html unless headers say so."""
        self._queue.extend(Scripted(status, body, dict(headers or {})) for _ in range(times))

    def hang(self) -> threading.Event:
        """The next request gets no answer until the returned event is set (or the fake closes)."""
        event = threading.Event()
        self._queue.append(Scripted(200, "", hang=event))
        return event

    @property
    def embedded(self) -> list[str]:
        """The texts of all requests for vectors."""
        bodies = [r.body for r in self.requests if r.path.endswith("/embeddings")]
        return [text for body in bodies for text in _embedding_texts(body)]

    @property
    def chats(self) -> list[Recorded]:
        """Only the requests that asked for an answer of the model."""
        return [r for r in self.requests if r.path.endswith(CHAT_ENDINGS)]

    def prompts(self) -> list[str]:
        """The text of each chat request: system and user parts, one below the other."""
        return [prompt_of(r.body) for r in self.chats]

    def next_scripted(self) -> Scripted | str | None:
        with self._lock:
            return self._queue.popleft() if self._queue else self._default

    def enter(self, recorded: Recorded) -> None:
        with self._lock:
            self.requests.append(recorded)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)

    def leave(self) -> None:
        with self._lock:
            self._in_flight -= 1


def prompt_of(body: Any) -> str:
    parts = [body.get("system") or "", body.get("prompt") or ""]
    for content in (body.get("systemInstruction") or {}, *body.get("contents", [])):
        parts += [part.get("text", "") for part in content.get("parts", [])]
    for message in body.get("messages", []):
        content = message.get("content")
        parts.append(content if isinstance(content, str) else "".join(p.get("text", "") for p in content or []))
    return "\n".join(str(part) for part in parts if part)


def _openai(fake: FakeModel, body: Any, text: str) -> dict[str, Any]:
    prompt = len(words(prompt_of(body)))
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "fake-small"),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": fake.finish_reason}
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": len(words(text)),
            "total_tokens": prompt + len(words(text)),
        },
    }


def _anthropic(fake: FakeModel, body: Any, text: str) -> dict[str, Any]:
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(fake.finish_reason, fake.finish_reason)
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake-small"),
        "content": [{"type": "text", "text": text}],
        "stop_reason": reason,
        "usage": {"input_tokens": len(words(prompt_of(body))), "output_tokens": len(words(text))},
    }


def _google(fake: FakeModel, body: Any, text: str) -> dict[str, Any]:
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}.get(fake.finish_reason, fake.finish_reason)
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": len(words(prompt_of(body))),
            "candidatesTokenCount": len(words(text)),
        },
        "modelVersion": "fake-small",
    }


def _sse(fake: FakeModel, body: Any, text: str) -> bytes:
    whole = _openai(fake, body, text)
    pieces = re.findall(r"\S+\s*|\s+", text) or [""]
    events = [{**_chunk(whole), "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    last = {"index": 0, "delta": {}, "finish_reason": fake.finish_reason}
    events.append({**_chunk(whole), "choices": [last], "usage": whole["usage"]})
    return "".join(f"data: {json.dumps(e)}\n\n" for e in events).encode() + b"data: [DONE]\n\n"


def _chunk(whole: dict[str, Any]) -> dict[str, Any]:
    return {"id": whole["id"], "object": "chat.completion.chunk", "model": whole["model"]}


def _embedding_texts(body: Any) -> list[str]:
    value = body.get("input", body.get("prompt", body.get("texts", "")))
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


def _lists(fake: FakeModel, path: str) -> Any:
    if path == "/v1beta/models":
        methods = {"supportedGenerationMethods": ["generateContent"], "inputTokenLimit": 1048576}
        return {"models": [{"name": f"models/{m}", **methods, **fake.facts.get(m, {})} for m in fake.models]}
    if "/subscription/" in path:
        return {"object": "list", "data": [{"id": m, "object": "model"} for m in fake.included or ()]}
    if path.endswith("/models"):
        rows = [{"id": m, "object": "model", "owned_by": "fake", **fake.facts.get(m, {})} for m in fake.models]
        return {"object": "list", "data": rows}
    if path == "/api/tags":
        return {"models": [{"name": m, "model": m, "size": 1} for m in fake.models]}
    return {"version": "0.0.0", "status": "ok"}


def _posts(fake: FakeModel, path: str, body: Any) -> Any:
    """The JSON answer to a POST that needs no script: embeddings and Ollama's small change."""
    if path.startswith("/v1beta") and path.endswith(":batchEmbedContents"):
        texts = [one["content"]["parts"][0]["text"] for one in body["requests"]]
        return {"embeddings": [{"values": vector(fake.means.get(text, text))} for text in texts]}
    if path.endswith("/embeddings") and path.startswith("/v1"):
        texts = [fake.means.get(text, text) for text in _embedding_texts(body)]
        rows = [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(texts)]
        return {"object": "list", "data": rows, "model": body.get("model", "fake"), "usage": {"prompt_tokens": 1}}
    if path == "/api/embed":
        return {"model": body.get("model"), "embeddings": [vector(t) for t in _embedding_texts(body)]}
    if path == "/api/embeddings":
        return {"embedding": vector(_embedding_texts(body)[0])}
    if path in ("/api/pull", "/api/show"):
        return {"status": "success"}
    return None


def _handler(fake: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:
            """The test's output stays quiet."""

        def do_GET(self) -> None:
            self._answered({})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {}
            self._answered(body)

        def _answered(self, body: Any) -> None:
            path, _mark, query = self.path.partition("?")
            fake.enter(Recorded(self.command, path, dict(self.headers.items()), body, query))
            try:
                self._answer(path, body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                fake.leave()

        def _answer(self, path: str, body: Any) -> None:
            given = [self.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key")]
            if fake.key and fake.key not in [key.removeprefix("Bearer ") for key in given]:
                return self._send(401, {"error": {"message": "Incorrect API key provided"}})
            if fake.needs_version and path in ("/models", "/chat/completions"):
                return self._send(404, "404 page not found", {"Content-Type": "text/plain"})
            if fake.included is None and "/subscription/" in path:
                return self._send(404, {"error": {"message": "Not found"}})
            if self.command == "GET":
                return self._send(200, _lists(fake, path))
            if fake.embeds_with != 200 and path.endswith(("/embeddings", ":batchEmbedContents")):
                return self._send(fake.embeds_with, {"error": {"message": "no vectors today"}})
            plain = _posts(fake, path, body)
            return self._send(200, plain) if plain is not None else self._chat(path, body)

        def _chat(self, path: str, body: Any) -> None:
            ruled = fake.rule(prompt_of(body))
            scripted = fake.next_scripted() if ruled is None else ruled
            if fake.latency:
                time.sleep(fake.latency)
            if isinstance(scripted, Scripted):
                if scripted.hang is not None:
                    scripted.hang.wait(60)
                return self._send(scripted.status, scripted.body, scripted.headers)
            text = memory_answer(prompt_of(body)) if scripted is None else scripted
            if path.endswith("/messages"):
                return self._send(200, _anthropic(fake, body, text))
            if path.endswith(":generateContent"):
                return self._send(200, _google(fake, body, text))
            if path == "/api/chat":
                message = {"role": "assistant", "content": text}
                return self._send(200, {"model": body.get("model"), "message": message, "done": True})
            if body.get("stream") or fake.stream_always:
                return self._send(200, _sse(fake, body, text), {"Content-Type": "text/event-stream"})
            return self._send(200, _openai(fake, body, text))

        def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            kind = "application/json" if isinstance(body, dict | list) else "text/html; charset=utf-8"
            data = json.dumps(body).encode() if isinstance(body, dict | list) else body
            data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    return Handler
