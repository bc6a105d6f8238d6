"""Anthropic's wire format: `/messages`, the system text beside the messages, answers in parts."""

from __future__ import annotations

from typing import Any

from providers import openai_compatible
from providers.abilities import Abilities
from providers.base import Reply, Request, Usage
from providers.listed_prices import Listed
from providers.nothing_said import nothing_said
from providers.openai_compatible import count, mend
from providers.reasoning import split_reasoning

MODELS_PATH = "/models?limit=1000"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}


def auth_headers(key: str) -> dict[str, str]:
    return {"x-api-key": key} if key else {}


def chat_path(model: str) -> str:
    return "/messages"


def body_of(request: Request, model: str, can: Abilities) -> dict[str, Any]:
    """The request body. The length of the answer must be in it."""
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": "user", "content": request.user}],
        "stream": False,
    }
    if request.system:
        body["system"] = request.system
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def read(data: dict[str, Any], *, name: str) -> Reply:
    """Text parts joined; thinking parts apart; tool use ignored. Raises ProviderError when there is no text."""
    parts = [part for part in data.get("content") or [] if isinstance(part, dict)]
    text, thought = split_reasoning("".join(_strings(parts, "text", "text")))
    reasoning = "\n".join([*_strings(parts, "thinking", "thinking"), *([thought] if thought else [])])
    finish = str(data.get("stop_reason") or "")
    reply = Reply(text, reasoning, _FINISH.get(finish, finish), str(data.get("model") or ""), _usage(data.get("usage")))
    if not reply.text:
        raise nothing_said(reply, name, reply.usage)
    return reply


def model_rows(data: Any) -> list[Listed]:
    """The list has the form of OpenAI's, without prices."""
    return openai_compatible.model_rows(data)


def _strings(parts: list[dict[str, Any]], kind: str, field: str) -> list[str]:
    return [mend(part[field]) for part in parts if part.get("type") == kind and isinstance(part.get(field), str)]


def _usage(data: Any) -> Usage:
    """Cached and freshly cached tokens are part of the prompt, but reported beside it."""
    if not isinstance(data, dict):
        return Usage()
    fresh, out = count(data.get("input_tokens")), count(data.get("output_tokens"))
    cached = count(data.get("cache_read_input_tokens"))
    if fresh is None:
        return Usage(None, out, cached)
    return Usage(fresh + (cached or 0) + (count(data.get("cache_creation_input_tokens")) or 0), out, cached)
