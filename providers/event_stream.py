"""Event streams of servers that stream although nobody asked for it: read as the one answer that they make up."""

from __future__ import annotations

import json
from typing import Any

from providers.foreign_json import storable
from providers.transport import Answer


def is_stream(answer: Answer) -> bool:
    """Whether this is a stream, whatever its header says."""
    return answer.content_type == "text/event-stream" or answer.text[:200].lstrip().startswith("data: ")


def joined_stream(text: str) -> dict[str, Any]:
    """One answer out of an event stream nobody asked for. Cut off before its end: finish reason "length"."""
    content: list[str] = []
    reasoning: list[str] = []
    finish, usage = "", None
    last: dict[str, Any] = {}
    for event in _events(text):
        if event.get("error"):
            return dict(storable(event))
        last, usage = event, event.get("usage") or usage
        choice: dict[str, Any] = next(iter(event.get("choices") or []), {})
        delta = choice.get("delta") or choice.get("message") or {}
        content.append(delta.get("content") or choice.get("text") or "")
        reasoning.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        finish = choice.get("finish_reason") or finish
    is_whole = bool(finish) or "data: [DONE]" in text
    message = {"content": "".join(content), "reasoning_content": "".join(reasoning)}
    choice = {"message": message, "finish_reason": finish or ("stop" if is_whole else "length")}
    joined: dict[str, Any] = storable({"model": last.get("model"), "choices": [choice] if last else [], "usage": usage})
    return joined


def _events(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        if not line.startswith("data:") or line.strip() == "data: [DONE]":
            continue
        try:
            event = json.loads(line[5:])
        except (ValueError, RecursionError):
            continue  # a line that was cut off in the middle
        if isinstance(event, dict):
            found.append(event)
    return found
