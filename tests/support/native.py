"""Answers and errors as each wire format writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Native:
    """One wire format's way to say things. `preset` is a row of the catalogue that speaks it."""

    preset: str
    answer: Callable[..., Body]  # (text, finish="stop", thought="")
    error: Callable[[int, str], Body]
    refusal: Body
    only_thought: Body
    tool: Body
    nothing: Body


def _openai(text: str | None, finish: str = "stop", **message: Any) -> Body:
    return {
        "id": "1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
    }


def _anthropic(text: str, finish: str = "stop", *parts: Body) -> Body:
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(finish, finish)
    return {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*parts, *([{"type": "text", "text": text}] if text else [])],
        "stop_reason": reason,
        "usage": {"input_tokens": 2, "cache_read_input_tokens": 1, "output_tokens": 2},
    }


def _gemini(text: str, finish: str = "stop", *parts: Body) -> Body:
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}.get(finish, finish)
    content = {"role": "model", "parts": [*parts, *([{"text": text}] if text else [])]}
    return {
        "candidates": [{"content": content, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "cachedContentTokenCount": 1},
        "modelVersion": "m",
    }


CALL = {"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
NATIVE = {
    "openai": Native(
        "openai",
        _openai,
        lambda status, said: {"error": {"message": said, "type": "some_error", "param": None, "code": None}},
        refusal=_openai(None, refusal="I cannot help with that."),
        only_thought=_openai("", "length", reasoning_content="Hm."),
        tool=_openai(None, "tool_calls", tool_calls=[CALL]),
        nothing=_openai(None),
    ),
    "anthropic": Native(
        "anthropic",
        _anthropic,
        lambda status, said: {"type": "error", "error": {"type": "some_error", "message": said}, "request_id": "1"},
        refusal=_anthropic("", "refusal"),
        only_thought=_anthropic("", "length", {"type": "thinking", "thinking": "Hm.", "signature": "x"}),
        tool=_anthropic("", "tool_use", {"type": "tool_use", "id": "1", "name": "x", "input": {}}),
        nothing=_anthropic(""),
    ),
    "gemini": Native(
        "gemini",
        _gemini,
        lambda status, said: {"error": {"code": status, "message": said, "status": "SOME_ERROR"}},
        refusal={"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}},
        only_thought=_gemini("", "length", {"text": "Hm.", "thought": True}),
        tool=_gemini("", "stop", {"functionCall": {"name": "x", "args": {}}}),
        nothing=_gemini(""),
    ),
}
