"""The wire formats by name. One file each, all of the same shape: a file here needs no more than this."""

from __future__ import annotations

from typing import Any, Protocol

from providers import anthropic, gemini, openai_compatible
from providers.abilities import Abilities
from providers.base import Reply, Request
from providers.listed_prices import Listed


class Wire(Protocol):
    """How one kind of server is asked. Paths stand below the base address and begin with a slash.

    `read` and `model_rows` may raise what Python raises when a piece of foreign JSON has an odd type: the caller makes
    one sentence of it. `read` raises ProviderError when an answer holds no text.
    """

    MODELS_PATH: str

    def auth_headers(self, key: str) -> dict[str, str]: ...

    def chat_path(self, model: str) -> str: ...

    def body_of(self, request: Request, model: str, can: Abilities) -> dict[str, Any]: ...

    def read(self, data: dict[str, Any], *, name: str) -> Reply: ...

    def model_rows(self, data: Any) -> list[Listed]: ...


WIRES: dict[str, Wire] = {"openai": openai_compatible, "anthropic": anthropic, "gemini": gemini}
