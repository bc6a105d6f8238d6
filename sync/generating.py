"""A question asked through SillyTavern's own endpoints, and its answer in the one form that is read (spec §11).

SillyTavern hides what a model's server said: it answers 200 with the bare name of a status, or 500 without a word.
`told` gives back what it lets through; where it says nothing useful the same question is asked once more as a stream,
because then it passes the refusal on as it came. A question that was refused costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from providers import openai_compatible
from providers.abilities import Abilities
from providers.base import Reply, Request
from providers.event_stream import is_stream
from providers.listed_prices import Listed
from providers.tokens import estimate_tokens
from providers.transport import Answer
from sync.tavern.model_routes import Route
from sync.tavern.server import ServerError

PATHS = {"chat": "/api/backends/chat-completions/generate", "text": "/api/backends/text-completions/generate"}
NAMED = {status.phrase: int(status) for status in HTTPStatus if status >= 400}
UNNAMED = "Unknown error occurred"  # what stands there for a status without a name
# Refusals whose reason matters: it teaches what a model takes, or says that a text is too long.
WORTH_ASKING = (400, 413, 422, 500)
# What stands in the type, code or message of an error that was passed on as 500 → the status that it had.
MEANT = {"authentication": 401, "api_key": 401, "insufficient": 402, "rate_limit": 429, "invalid_request": 400}
# Types of text completion that read the length of the answer from another field.
LENGTH_FIELD = {"llamacpp": "n_predict", "ollama": "num_predict"}

FEWEST_BYTES = 3.0  # a token is hardly shorter, on the average
STEP = 4096  # windows of few sizes: each other one loads the model anew

Send = Callable[[dict[str, Any]], Answer]


@dataclass(frozen=True)
class TavernWire:
    """A wire (providers/wires.py) for one route: the model and whatever else SillyTavern wants to know come with it."""

    MODELS_PATH = ""
    route: Route

    def auth_headers(self, key: str) -> dict[str, str]:
        """None: keys stay in SillyTavern."""
        return {}

    def chat_path(self, model: str) -> str:
        return PATHS[self.route.kind]

    def body_of(self, request: Request, model: str, can: Abilities) -> dict[str, Any]:
        """The body for the route's endpoint; `model` only names the route."""
        body = _chat_body(request, can) if self.route.kind == "chat" else self._text(request)
        kind = "chat_completion_source" if self.route.kind == "chat" else "api_type"
        named = {"model": self.route.model} if self.route.model else {}
        return {**self.route.fields, **body, **named, kind: self.route.source}

    def _text(self, request: Request) -> dict[str, Any]:
        return _text_body(request, self.route.source, int(self.route.fields.get("num_ctx", 0)))

    def read(self, data: dict[str, Any], *, name: str) -> Reply:
        """The answer in whatever shape the source has. Raises ProviderError when it holds no text."""
        reply = openai_compatible.read(as_choices(data), name=name)
        return reply if reply.model else replace(reply, model=self.route.model)

    def model_rows(self, data: Any) -> list[Listed]:
        return openai_compatible.model_rows(data)


def _chat_body(request: Request, can: Abilities) -> dict[str, Any]:
    body = openai_compatible.body_of(request, "", can)
    del body["model"]
    return {**body, "use_sysprompt": True}


def _text_body(request: Request, source: str, context: int) -> dict[str, Any]:
    """The whole question as plain text: what to do, an empty line, what to read."""
    prompt = "\n\n".join(part.strip() for part in (request.system, request.user) if part.strip())
    most = request.max_tokens
    body: dict[str, Any] = {"prompt": f"{prompt}\n\n", "stream": False, "max_tokens": most, "max_new_tokens": most}
    if source in LENGTH_FIELD:
        body[LENGTH_FIELD[source]] = most
    if source == "ollama":
        body |= _room(prompt, most, context)
    return body if request.temperature is None else {**body, "temperature": request.temperature}


def _room(prompt: str, most: int, context: int) -> dict[str, Any]:
    """A larger window for Ollama where SillyTavern's is too small: it would cut the prompt and say nothing."""
    need = estimate_tokens(prompt, FEWEST_BYTES) + most
    return {"num_ctx": math.ceil(need / STEP) * STEP} if need > context else {}


def as_choices(data: dict[str, Any]) -> dict[str, Any]:
    """An answer of any source in OpenAI's shape."""
    if isinstance(data.get("content"), list):  # Claude: SillyTavern's own choice has only the first block
        return {**data, "choices": [_choice(data["content"], _joined(data["content"], "thinking"))]}
    if isinstance(data.get("choices"), list):
        thoughts = [part for part in _parts(data.get("responseContent")) if part.get("thought")]
        return {**data, "reasoning": _joined(thoughts, "text")}
    if isinstance(message := data.get("message"), dict):  # Cohere
        return {**data, "choices": [{"message": message, "finish_reason": data.get("finish_reason")}]}
    if isinstance(data.get("content"), str):  # llama.cpp
        cut = data.get("stop_type") == "limit" or data.get("stopped_limit") is True
        usage = _usage(data, "tokens_evaluated", "tokens_predicted")
        return {**data, "choices": [_choice(data["content"], finish="length" if cut else "stop")], "usage": usage}
    if isinstance(data.get("response"), str):  # Ollama
        usage = _usage(data, "prompt_eval_count", "eval_count")
        choice = _choice(data["response"], data.get("thinking"), str(data.get("done_reason") or ""))
        return {**data, "choices": [choice], "usage": usage}
    results = data.get("results")
    return {**data, "choices": results if isinstance(results, list) else []}


def _choice(content: Any, thoughts: Any = "", finish: str = "") -> dict[str, Any]:
    return {"message": {"content": content, "reasoning": thoughts}, "finish_reason": finish}


def _usage(data: dict[str, Any], sent: str, answered: str) -> dict[str, Any]:
    return {"prompt_tokens": data.get(sent), "completion_tokens": data.get(answered)}


def _parts(content: Any) -> list[dict[str, Any]]:
    parts = content.get("parts") if isinstance(content, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _joined(parts: list[Any], name: str) -> str:
    texts = [part.get(name) for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def asked(send: Send, body: dict[str, Any], route: Route) -> Answer:
    """The answer with the status that the model's server gave, as far as SillyTavern can be brought to say it."""
    first = send(body)
    found = told(first)
    if route.kind == "text" or found.status not in WORTH_ASKING or not _is_wordless(first):
        return found
    try:
        second = send({**body, "stream": True})
    except ServerError:  # the refusal of the model's server looks like one of SillyTavern
        return found
    if second.status < 300:  # it went well this time; only OpenAI's stream can be read
        return second if is_stream(second) and '"choices"' in second.text else found
    return told(second)


def is_without_key(answer: Answer) -> bool:
    """How SillyTavern answers for a source whose key it does not have, or that it does not know."""
    return answer.status == HTTPStatus.BAD_REQUEST and _object(answer) == {"error": True}


def told(answer: Answer) -> Answer:
    """The answer with the status that it talks about. Text completions say it beside `error`, chat completions name it
    in words or in the code of an error that was passed on with 500."""
    data = _object(answer)
    error = data.get("error") or (data if answer.status == HTTPStatus.INTERNAL_SERVER_ERROR else None)
    if not error:
        return answer
    if data.get("quota_error") is True:
        return replace(answer, status=HTTPStatus.PAYMENT_REQUIRED)
    if error is True:
        return _of_text(answer, data)
    status = _status_in(error) if answer.status in (200, 400, 500) else None
    return replace(answer, status=status) if status else answer


def _of_text(answer: Answer, data: dict[str, Any]) -> Answer:
    status, words = data.get("status"), data.get("response")
    said = words if isinstance(words, str) else ""
    if isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600:
        return replace(answer, status=status, body=said.encode())
    if not said:
        return answer if answer.status >= 300 else replace(answer, status=int(HTTPStatus.INTERNAL_SERVER_ERROR))
    return replace(answer, status=int(HTTPStatus.BAD_GATEWAY), body=json.dumps({"error": {"message": said}}).encode())


def _status_in(error: Any) -> int | None:
    if not isinstance(error, dict):
        return None
    message, code = error.get("message") or error.get("detail"), error.get("code")
    if message == UNNAMED:
        return int(HTTPStatus.INTERNAL_SERVER_ERROR)
    if isinstance(message, str) and message in NAMED:
        return NAMED[message]
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return code
    words = " ".join(word for word in (error.get("type"), code, message) if isinstance(word, str)).lower()
    return next((status for word, status in MEANT.items() if word in words), None)


def _is_wordless(answer: Answer) -> bool:
    """An error of which SillyTavern kept the words for itself."""
    error = _object(answer).get("error")
    said = error.get("message") if isinstance(error, dict) else None
    return (error is True and answer.status == HTTPStatus.INTERNAL_SERVER_ERROR) or said in NAMED or said == UNNAMED


def _object(answer: Answer) -> dict[str, Any]:
    try:
        data = answer.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
