"""Google's wire format: the model in the address, `contents` with parts, the settings in `generationConfig`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from providers.abilities import Abilities
from providers.base import Reply, Request, Usage
from providers.listed_prices import Listed, read_row
from providers.nothing_said import nothing_said
from providers.openai_compatible import count, mend
from providers.reasoning import split_reasoning

MODELS_PATH = "/models?pageSize=1000"
TUNED = "tunedModels/"
_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "tool_calls",
    "UNEXPECTED_TOOL_CALL": "tool_calls",
    **dict.fromkeys(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
}


def auth_headers(key: str) -> dict[str, str]:
    return {"x-goog-api-key": key} if key else {}


def chat_path(model: str) -> str:
    """Names are typed with and without the "models/" that the list puts in front of them."""
    folder = TUNED if model.startswith(TUNED) else "models/"
    return f"/{folder}{quote(model.removeprefix(folder), safe='')}:generateContent"


def body_of(request: Request, model: str, can: Abilities) -> dict[str, Any]:
    """The request body; the model stands in the address."""
    settings: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    body: dict[str, Any] = {
        "contents": [{"role": "user", "parts": [{"text": request.user}]}],
        "generationConfig": settings,
    }
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    return body


def read(data: dict[str, Any], *, name: str) -> Reply:
    """The first candidate with text; thoughts apart. Raises ProviderError when there is no text."""
    usage, model = _usage(data.get("usageMetadata")), str(data.get("modelVersion") or "")
    candidates = [one for one in data.get("candidates") or [] if isinstance(one, dict)]
    replies = [_reply(one, model, usage) for one in candidates]
    reply = next((reply for reply in replies if reply.text), replies[0] if replies else None)
    if reply is None and (data.get("promptFeedback") or {}).get("blockReason"):
        reply = Reply("", finish_reason="content_filter")
    if reply is None or not reply.text:
        raise nothing_said(reply, name, usage)
    return reply


def model_rows(data: Any) -> list[Listed]:
    """The models that write text, without "models/" before their names. Prices are not in the list."""
    rows = data.get("models") or [] if isinstance(data, dict) else []
    named = [row for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str) and _writes(row)]
    found: dict[str, Listed] = {}
    for row in named:
        if name := row["name"].removeprefix("models/"):
            found.setdefault(name, read_row(name, row))
    return list(found.values())


def _writes(row: dict[str, Any]) -> bool:
    return "generateContent" in (row.get("supportedGenerationMethods") or ["generateContent"])


def _reply(candidate: dict[str, Any], model: str, usage: Usage) -> Reply:
    content = candidate.get("content") or {}
    parts = [part for part in content.get("parts") or [] if isinstance(part, dict)]
    finish = str(candidate.get("finishReason") or "")
    text, thought = split_reasoning(_words(part for part in parts if not part.get("thought")))
    apart = _words(part for part in parts if part.get("thought"))
    reasoning = "\n".join(words for words in (apart, thought) if words)
    wants_tool = any("functionCall" in part for part in parts)
    return Reply(text, reasoning, "tool_calls" if wants_tool else _FINISH.get(finish, finish.lower()), model, usage)


def _words(parts: Iterable[dict[str, Any]]) -> str:
    return "".join(mend(part["text"]) for part in parts if isinstance(part.get("text"), str))


def _usage(data: Any) -> Usage:
    """Thoughts are paid like the answer, but counted beside it."""
    if not isinstance(data, dict):
        return Usage()
    said, thought = count(data.get("candidatesTokenCount")), count(data.get("thoughtsTokenCount"))
    out = None if said is None and thought is None else (said or 0) + (thought or 0)
    return Usage(count(data.get("promptTokenCount")), out, count(data.get("cachedContentTokenCount")))
