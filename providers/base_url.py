"""Cleans addresses as people paste them. Pure."""

from __future__ import annotations

import re

ENDINGS = ("/chat/completions", "/completions", "/messages", "/models", "/embeddings")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def clean_base_url(typed: str, *, scheme: str = "https") -> str:
    """The base address in what was typed: no blanks, no query, no trailing slash, no `/chat/completions` at the end.

    A missing scheme becomes `scheme`. Says nothing about whether the address is allowed (network.py).
    """
    text = typed.strip().strip("\"'`<>").strip()
    if text and not _SCHEME.match(text):
        text = f"{scheme}://{text}"
    text = re.split(r"[?#]", text, maxsplit=1)[0].rstrip("/")
    for ending in ENDINGS:
        if text.lower().endswith(ending):
            return text[: -len(ending)].rstrip("/")
    return text


def with_version(base_url: str) -> str | None:
    """The same address with the `/v1` that people forget; None when it has a version already."""
    return None if re.search(r"/v\d+\w*(/|$)", base_url) else f"{base_url}/v1"
