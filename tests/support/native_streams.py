"""Event streams as each wire format writes them: one text in several pieces, thinking before it, and an end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

Event = dict[str, Any]
Write = Callable[..., str]  # (*pieces, finish="stop", thought="")


def lines(events: Iterable[Event], *, named: bool = False) -> str:
    """Server-sent events; `named` puts each one's type before it."""
    return "".join((f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in events)


def _openai(*pieces: str, finish: str = "stop", thought: str = "") -> str:
    deltas: list[Event] = [{"role": "assistant", "content": ""}, *([{"reasoning_content": thought}] if thought else [])]
    deltas += [{"content": piece} for piece in pieces]
    events: list[Event] = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events.append({"model": "m", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    return lines(events) + "data: [DONE]\n\n"


def _anthropic(*pieces: str, finish: str = "stop", thought: str = "") -> str:
    usage = {"input_tokens": 2, "cache_read_input_tokens": 1, "output_tokens": 1}
    message = {"type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
    events: list[Event] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    thinking = [{"type": "thinking_delta", "thinking": thought}, {"type": "signature_delta", "signature": "x"}]
    texts = [{"type": "text_delta", "text": piece} for piece in pieces]
    blocks: list[tuple[Event, list[Event]]] = [({"type": "thinking", "thinking": ""}, thinking)] if thought else []
    blocks.append(({"type": "text", "text": ""}, texts))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(finish, finish)
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}})
    return lines([*events, {"type": "message_stop"}], named=True)


def gemini_events(*pieces: str, finish: str = "stop", thought: str = "") -> list[Event]:
    """Google's events, which also come as one list."""
    parts: list[Event] = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": piece} for piece in pieces]
    events: list[Event] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "m"}
        for part in parts
    ]
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}.get(finish, finish)
    counts = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    last = {"candidates": [{"content": {"parts": []}, "finishReason": reason}], "usageMetadata": counts}
    return [*events, {**last, "modelVersion": "m"}]


def _gemini(*pieces: str, finish: str = "stop", thought: str = "") -> str:
    return lines(gemini_events(*pieces, finish=finish, thought=thought))


STREAMS: dict[str, Write] = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}
