"""The kinds of connection that people can choose, as data: a new provider is one more row."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class Preset:
    """One row of the catalogue.

    `wire`: the adapter ("openai", "anthropic"). `reach`: providers/network.py, or "builtin". `key_use`: "required",
    "optional" or "none". `address_is_typed`: the base URL comes from the person, `base_url` is only the example.
    """

    key: str
    label: Words
    hint: Words
    wire: str
    reach: str
    base_url: str = ""
    key_use: str = "required"
    lists_models: bool = True
    default_model: str = ""
    key_page: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    obeys_grammar: bool = False

    @property
    def is_free(self) -> bool:
        """Nobody sends a bill for these calls."""
        return self.reach in ("local", "builtin") or self.key_use == "none"

    @property
    def address_is_typed(self) -> bool:
        return self.reach in ("custom", "local")


@dataclass(frozen=True)
class LocalPort:
    """Where a kind of local server usually listens."""

    label: str
    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


LOCAL_PORTS = (
    LocalPort("Ollama", 11434),
    LocalPort("LM Studio", 1234),
    LocalPort("llama.cpp", 8080),
    LocalPort("KoboldCpp", 5001),
    LocalPort("vLLM", 8000),
)

_ROWS = (
    Preset(
        key="local",
        label=_("Local server"),
        hint=_("Ollama, LM Studio, llama.cpp, KoboldCpp, vLLM"),
        wire="openai",
        reach="local",
        base_url="http://127.0.0.1:11434/v1",
        key_use="optional",
    ),
    Preset(
        key="openrouter",
        label="OpenRouter",
        hint=_("One key, hundreds of models"),
        wire="openai",
        reach="hosted",
        base_url="https://openrouter.ai/api/v1",
        default_model="openai/gpt-4.1-nano",
        key_page="https://openrouter.ai/keys",
        headers={"X-Title": "CharMem"},
    ),
    Preset(
        key="anthropic",
        label="Anthropic",
        hint="Claude",
        wire="anthropic",
        reach="hosted",
        base_url="https://api.anthropic.com/v1",
        default_model="claude-sonnet-4-5-20250929",
        key_page="https://console.anthropic.com/settings/keys",
        headers={"anthropic-version": "2023-06-01"},
    ),
    Preset(
        key="pollinations",
        label="Pollinations",
        hint=_("No key, for trying; others may read along"),
        wire="openai",
        reach="hosted",
        base_url="https://text.pollinations.ai/openai",
        key_use="none",
        lists_models=False,
        default_model="openai",
    ),
    Preset(
        key="custom",
        label=_("Another (OpenAI-compatible)"),
        hint=_("Any https address that speaks OpenAI's language"),
        wire="openai",
        reach="custom",
        base_url="https://example.com/v1",
        key_use="optional",
    ),
    Preset(
        key="builtin",
        label=_("Built-in (this computer)"),
        hint=_("A trial of how things work, not of quality"),
        wire="openai",
        reach="builtin",
        key_use="none",
        lists_models=False,
        obeys_grammar=True,
    ),
)

PRESETS: dict[str, Preset] = {row.key: row for row in _ROWS}


def label_of(key: str) -> str:
    """What people call this kind of connection; the key itself when the catalogue does not have it (any more)."""
    return str(PRESETS[key].label) if key in PRESETS else key
