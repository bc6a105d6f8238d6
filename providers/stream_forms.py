"""The events of a stream, put together to the answer that would have come at once: one reader for each form. Pure.

A stream that broke off before its end becomes an answer that was cut off by its length. Pieces of an odd type raise
what Python raises for them; the caller makes one sentence of it (answers.shape_of).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Event = dict[str, Any]
Events = Sequence[Event]
Join = Callable[[Events, bool], dict[str, Any]]
_SPOKEN = ("content", "reasoning_content", "reasoning", "refusal")


def form_of(events: Events) -> Join:
    """The reader for these events, by what they look like: a gateway may speak another form than its address says."""
    if any(str(event.get("type")).startswith(("message", "content_block_")) for event in events):
        return join_anthropic
    if any("candidates" in event or "promptFeedback" in event for event in events):
        return join_gemini
    return join_openai


def join_openai(events: Events, is_done: bool) -> dict[str, Any]:
    """Chunks with a `delta` for each choice, or whole messages in their place. `is_done`: the stream said so."""
    choices: dict[Any, dict[str, Any]] = {}
    usage, model = None, ""
    for event in events:
        usage, model = event.get("usage") or usage, event.get("model") or model
        for chunk in event.get("choices") or []:
            choice = choices.setdefault(chunk.get("index") or 0, {"finish_reason": "", "message": {}})
            choice["finish_reason"] = chunk.get("finish_reason") or choice["finish_reason"]
            _add_delta(choice["message"], chunk)
    for choice in choices.values():
        choice["finish_reason"] = choice["finish_reason"] or ("stop" if is_done else "length")
    return {"model": model, "choices": list(choices.values()), "usage": usage}


def _add_delta(message: dict[str, Any], chunk: Event) -> None:
    delta = chunk.get("delta") or chunk.get("message") or {}
    spoken = {name: delta.get(name) for name in _SPOKEN}
    spoken["content"] = spoken["content"] or chunk.get("text")
    for name, piece in spoken.items():
        if piece:
            message[name] = message.get(name, "") + (piece if isinstance(piece, str) else _text_parts(piece))


def _text_parts(parts: Any) -> str:
    return "".join(part.get("text") or "" for part in parts if part.get("type") == "text")


def join_anthropic(events: Events, is_done: bool) -> dict[str, Any]:
    """`message_start`, then blocks that grow by `content_block_delta`, then `message_delta` with the reason to stop."""
    answer: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message":
            return event
        if kind == "message_start":
            answer = event["message"]
        elif kind == "content_block_start":
            blocks[event.get("index")] = {"text": "", "thinking": "", **event["content_block"]}
        elif kind == "content_block_delta":
            _add_piece(blocks, event)
        elif kind == "message_delta":
            answer = {**answer, **event["delta"]}
        is_done = is_done or kind == "message_stop"
        usage |= (event.get("message") or event).get("usage") or {}
    reason = answer.get("stop_reason") or ("end_turn" if is_done else "max_tokens")
    return {**answer, "content": list(blocks.values()), "stop_reason": reason, "usage": usage}


def _add_piece(blocks: dict[Any, dict[str, Any]], event: Event) -> None:
    delta = event["delta"]
    kind = "thinking" if "thinking" in delta else "text"
    block = blocks.setdefault(event.get("index"), {"type": kind, "text": "", "thinking": ""})
    block[kind] += delta.get(kind) or ""


def join_gemini(events: Events, is_done: bool) -> dict[str, Any]:
    """Every event is an answer with some more parts; the last one says why it ended."""
    answer: dict[str, Any] = {}
    candidates: dict[Any, dict[str, Any]] = {}
    for event in events:
        answer |= {name: value for name, value in event.items() if value and name != "candidates"}
        for chunk in event.get("candidates") or []:
            one = candidates.setdefault(chunk.get("index") or 0, {"content": {"parts": []}, "finishReason": ""})
            one["content"]["parts"] += (chunk.get("content") or {}).get("parts") or []
            one["finishReason"] = chunk.get("finishReason") or one["finishReason"]
    for one in candidates.values():
        one["finishReason"] = one["finishReason"] or ("STOP" if is_done else "MAX_TOKENS")
    return {**answer, "candidates": list(candidates.values())}
