"""OpenAI's wire format, as everybody speaks it: `/chat/completions` and `/models`."""

from __future__ import annotations

from typing import Any

from providers.abilities import Abilities
from providers.base import Reply, Request, Usage
from providers.listed_prices import Listed, read_row
from providers.nothing_said import nothing_said
from providers.reasoning import split_reasoning

MODELS_PATH = "/models"


def auth_headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def chat_path(model: str) -> str:
    return "/chat/completions"


def body_of(request: Request, model: str, can: Abilities) -> dict[str, Any]:
    """The request body. Streaming is switched off by name, because some servers stream by themselves."""
    messages = [{"role": "system", "content": request.system}] if request.system else []
    messages.append({"role": "user", "content": request.user})
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        can.max_tokens: request.max_tokens,
        "stream": False,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.grammar:
        body["grammar"] = request.grammar
    return body


def read(data: dict[str, Any], *, name: str) -> Reply:
    """The first choice of an answer that is not empty. Raises ProviderError when there is nothing to use."""
    usage = _usage(data.get("usage"))
    choices = [choice for choice in data.get("choices") or [] if isinstance(choice, dict)]
    replies = [_reply(choice, data, usage) for choice in choices]
    reply = next((reply for reply in replies if reply.text), replies[0] if replies else None)
    if reply is None or not reply.text:
        raise nothing_said(reply, name, usage)
    return reply


def model_rows(data: Any) -> list[Listed]:
    """The models of a list with their prices, in the server's order; also a bare list of objects or names."""
    rows = data.get("data") or data.get("models") or [] if isinstance(data, dict) else data
    found: dict[str, Listed] = {}
    for row in rows or []:
        name = row.get("id") or row.get("name") or "" if isinstance(row, dict) else row
        if isinstance(name, str) and name:
            found.setdefault(name, read_row(name, row))
    return list(found.values())


def model_ids(data: Any) -> list[str]:
    """Only the ids of `model_rows`."""
    return [row.id for row in model_rows(data)]


def _reply(choice: dict[str, Any], data: dict[str, Any], usage: Usage) -> Reply:
    message = choice.get("message") or choice.get("delta") or {}
    text, thought = split_reasoning(_words(message.get("content")) or _words(choice.get("text")))
    apart = _words(message.get("reasoning_content")) or _words(message.get("reasoning"))
    refused = not text and bool(_words(message.get("refusal")))
    return Reply(
        text=text,
        reasoning="\n".join(part for part in (apart, thought) if part),
        finish_reason="content_filter" if refused else str(choice.get("finish_reason") or ""),
        model=str(data.get("model") or ""),
        usage=usage,
    )


def _words(content: Any) -> str:
    """Text of a content field: a string, or a list of parts of which only text counts. Surrogate halves are mended."""
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") in ("text", "output_text")]
        content = "".join(part for part in parts if isinstance(part, str))
    return mend(content) if isinstance(content, str) else ""


def mend(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced, so that it can be stored and sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _usage(data: Any) -> Usage:
    if not isinstance(data, dict):
        return Usage()
    details = data.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(count(data.get("prompt_tokens")), count(data.get("completion_tokens")), count(cached))


def count(value: Any) -> int | None:
    """A token count as reported; None for anything that is not one."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**31 else None
