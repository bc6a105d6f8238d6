"""The kinds of connection that people can choose, as data: a new provider is one more row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class Preset:
    """One row of the catalogue.

    `wire`: a name in wires.py. `reach`: providers/network.py, "builtin", or "through" (through.py). `key_use`:
    "required", "optional" or "none". `address_is_typed`: the base URL comes from the person, `base_url` is only the
    example. `models_query` goes behind the address of the list of models. `subscription_path` leads to the list of
    those that a subscription pays for. `groups_models`: the list has models of many makers. `hints`: what to do about
    an error_type at this provider.
    """

    key: str
    label: Words
    hint: Words
    wire: str
    reach: str
    base_url: str = ""
    key_use: str = "required"
    lists_models: bool = True
    models_query: str = ""
    subscription_path: str = ""
    groups_models: bool = False
    default_model: str = ""
    key_page: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    hints: dict[str, Words] = field(default_factory=dict)
    obeys_grammar: bool = False

    @property
    def is_free(self) -> bool:
        """Nobody sends a bill for these calls."""
        return self.reach in ("local", "builtin") or (self.key_use == "none" and self.reach != "through")

    @property
    def address_is_typed(self) -> bool:
        return self.reach in ("custom", "local")

    def hint_for(self, error_type: str) -> Words | None:
        """A hint that fits this provider better than the general one; None when there is none."""
        if error_type in ("html", "content_type") and not self.address_is_typed:
            return _("A gateway in between may have answered; try again in a while.")
        return self.hints.get(error_type)


@dataclass(frozen=True)
class LocalPort:
    """Where a kind of local server usually listens."""

    label: str
    port: int

    @property
    def base_url(self) -> str:
        return self.at("127.0.0.1")

    def at(self, host: str) -> str:
        """The base address of such a server on another host."""
        return f"http://{host}:{self.port}/v1"


LOCAL_PORTS = (
    LocalPort("Ollama", 11434),
    LocalPort("LM Studio", 1234),
    LocalPort("llama.cpp", 8080),
    LocalPort("KoboldCpp", 5001),
    LocalPort("vLLM", 8000),
)


def _hosted(key: str, label: Words, hint: Words, base_url: str, **more: Any) -> Preset:
    """A provider with an address of its own that speaks OpenAI's language, unless `more` says otherwise."""
    return Preset(
        **{"key": key, "label": label, "hint": hint, "wire": "openai", "reach": "hosted", **more}, base_url=base_url
    )


# Pages show them in this order: what suits most people, then by name, then the two that need some knowledge.
_RECOMMENDED = (
    Preset(
        key="local",
        label=_("Local server"),
        hint=_("Ollama, LM Studio, llama.cpp, KoboldCpp, vLLM"),
        wire="openai",
        reach="local",
        base_url="http://127.0.0.1:11434/v1",
        key_use="optional",
    ),
    _hosted(
        "openrouter",
        "OpenRouter",
        _("One key, hundreds of models"),
        "https://openrouter.ai/api/v1",
        groups_models=True,
        default_model="openai/gpt-4.1-nano",
        key_page="https://openrouter.ai/keys",
        headers={"X-Title": "CharMem"},
    ),
    _hosted(
        "anthropic",
        "Anthropic",
        "Claude",
        "https://api.anthropic.com/v1",
        wire="anthropic",
        default_model="claude-sonnet-4-5-20250929",
        key_page="https://console.anthropic.com/settings/keys",
        headers={"anthropic-version": "2023-06-01"},
    ),
    Preset(
        key="sillytavern",
        label=_("Through SillyTavern"),
        hint=_("What SillyTavern talks to already; its keys stay there"),
        wire="",
        reach="through",
        key_use="none",
        default_model="Main LLM",
        hints={
            "key": _("Enter the key in SillyTavern, under API Connections."),
            "not_found": _("Look at SillyTavern’s own connection: its model and address."),
            "server": _("Look at SillyTavern’s own connection; its console tells more."),
            "request": _("Look at SillyTavern’s own connection; its console tells more."),
        },
    ),
)
_BY_NAME = (
    _hosted(
        "deepseek",
        "DeepSeek",
        _("DeepSeek’s own models"),
        "https://api.deepseek.com",
        default_model="deepseek-chat",
        key_page="https://platform.deepseek.com/api_keys",
    ),
    _hosted(
        "gemini",
        "Google Gemini",
        _("Google’s own models"),
        "https://generativelanguage.googleapis.com/v1beta",
        wire="gemini",
        default_model="gemini-flash-latest",
        key_page="https://aistudio.google.com/apikey",
    ),
    _hosted(
        "groq",
        "Groq",
        _("Open models, very fast"),
        "https://api.groq.com/openai/v1",
        default_model="llama-3.3-70b-versatile",
        key_page="https://console.groq.com/keys",
    ),
    _hosted(
        "mistral",
        "Mistral",
        _("Mistral’s own models"),
        "https://api.mistral.ai/v1",
        default_model="mistral-small-latest",
        key_page="https://console.mistral.ai/api-keys",
    ),
    _hosted(
        "nanogpt",
        "NanoGPT",
        _("One key, hundreds of models"),
        "https://nano-gpt.com/api/v1",
        models_query="detailed=true",  # with prices
        subscription_path="/../subscription/v1/models",
        groups_models=True,
        key_page="https://nano-gpt.com/api",
    ),
    _hosted(
        "nvidia",
        "NVIDIA",
        _("Open models of many makers"),
        "https://integrate.api.nvidia.com/v1",
        default_model="meta/llama-3.3-70b-instruct",
        key_page="https://build.nvidia.com",
        hints={"not_found": _("Accept the model’s terms at build.nvidia.com, or choose another model.")},
    ),
    _hosted(
        "openai",
        "OpenAI",
        "GPT",
        "https://api.openai.com/v1",
        default_model="gpt-4.1-nano",
        key_page="https://platform.openai.com/api-keys",
    ),
    _hosted(
        "pollinations",
        "Pollinations",
        _("No key, for trying; others may read along"),
        "https://text.pollinations.ai/openai",
        key_use="none",
        lists_models=False,
        default_model="openai",
    ),
    _hosted(
        "xai",
        "xAI",
        "Grok",
        "https://api.x.ai/v1",
        default_model="grok-3-mini-fast",
        key_page="https://console.x.ai",
    ),
)
_LAST = (
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

PRESETS: dict[str, Preset] = {row.key: row for row in (*_RECOMMENDED, *_BY_NAME, *_LAST)}


def label_of(key: str) -> str:
    """What people call this kind of connection; the key itself when the catalogue does not have it (any more)."""
    return str(PRESETS[key].label) if key in PRESETS else key
