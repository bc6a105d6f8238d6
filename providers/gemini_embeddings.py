"""Embeddings in Google's wire format: many texts at once, each with what it is for. Tokens are not counted there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from providers.base import Usage

FOLDER = "models/"
TASKS = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}


def path(model: str) -> str:
    return f"/{FOLDER}{quote(model.removeprefix(FOLDER), safe='')}:batchEmbedContents"


def body_of(texts: Sequence[str], model: str, kind: str) -> dict[str, Any]:
    """The request body: one request for each text."""
    same = {"model": FOLDER + model.removeprefix(FOLDER), "taskType": TASKS[kind]}
    return {"requests": [{**same, "content": {"parts": [{"text": text}]}} for text in texts]}


def read(data: dict[str, Any]) -> tuple[list[Any], Usage]:
    """The vectors, which come in the order of the texts."""
    return [row["values"] for row in data["embeddings"]], Usage(None, 0)
