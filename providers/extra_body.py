"""Fields that a person adds to every request of a connection: below what CharMem sets, and never the question. Pure."""

from __future__ import annotations

from typing import Any

# The question, the length and number of answers, and tools, in every spelling that a server takes.
PROTECTED = frozenset(
    "model messages system prompt max_tokens max_completion_tokens max_output_tokens stream n tools functions "
    "contents systemInstruction system_instruction generation_config cachedContent cached_content".split()
)
SETTINGS = "generationConfig"  # Google's, where lengths stand beside what people may choose
PROTECTED_SETTINGS = frozenset("maxOutputTokens max_output_tokens candidateCount candidate_count".split())


def clashes(extra: dict[str, Any]) -> list[str]:
    """The names in `extra` that may not be replaced."""
    inner = extra.get(SETTINGS, {})
    if not isinstance(inner, dict):
        return sorted({*PROTECTED & extra.keys(), SETTINGS})
    return sorted(PROTECTED & extra.keys()) + sorted(f"{SETTINGS}.{name}" for name in PROTECTED_SETTINGS & inner.keys())


def merged(extra: Any, body: dict[str, Any]) -> dict[str, Any]:
    """A request body with the allowed part of `extra` below it."""
    allowed = {name: value for name, value in extra.items() if name not in PROTECTED} if isinstance(extra, dict) else {}
    inner = allowed.pop(SETTINGS, None)
    if isinstance(inner, dict):
        chosen = {name: value for name, value in inner.items() if name not in PROTECTED_SETTINGS}
        allowed[SETTINGS] = {**chosen, **body.get(SETTINGS, {})}
        body = {name: value for name, value in body.items() if name != SETTINGS}
    return {**allowed, **body}
