"""Embeddings in OpenAI's wire format: `/embeddings`, one vector for each text, in any order with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from providers.base import Usage
from providers.openai_compatible import count


def path(model: str) -> str:
    return "/embeddings"


def body_of(texts: Sequence[str], model: str, kind: str) -> dict[str, Any]:
    """The request body; it knows no kinds."""
    return {"model": model, "input": list(texts)}


def read(data: dict[str, Any]) -> tuple[list[Any], Usage]:
    """The vectors in the order of the texts."""
    rows = [row for row in data["data"] if isinstance(row, dict)]
    rows.sort(key=lambda row: row.get("index", 0))
    usage = data.get("usage")
    sent = count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return [row["embedding"] for row in rows], Usage(sent, 0)
