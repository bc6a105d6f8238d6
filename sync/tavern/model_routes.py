"""Which model SillyTavern itself talks to, and how: read from settings.json (spec/sillytavern §11).

A route is chosen by its handle: "Main LLM" for what SillyTavern is set to at the moment, "Name [first letters of the
id]" for a Connection Profile, which is found again by its id when somebody renames it. Pure; what is read here may hold
the password of a proxy, and is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sync.tavern.text import plain, rows, table, whole, word

MAIN = "Main LLM"
KEPT = ("main_api", "max_context", "oai_settings", "textgenerationwebui_settings", "proxies")
MARK = 8  # letters of a profile's id in its handle
LONGEST = 4000
SHORTEST_SECRET = 12  # a shorter one may be a word of an answer

Settings = Mapping[str, Any]
Why = Literal["gone", "kind", "address", "proxy", "nothing"]

# Names of `api` that mean another one, and kinds that answer in ways of their own.
CHAT_ALIASES = {"oai": "openai", "google": "makersuite"}
TEXT_TYPES = {
    **{name: name for name in "ooba mancer vllm aphrodite tabby koboldcpp togetherai llamacpp ollama".split()},
    **{name: name for name in "infermaticai dreamgen featherless huggingface generic".split()},
    "kcpp": "koboldcpp",
    "openrouter-text": "openrouter",
}
OTHER_KINDS = {"kobold": "KoboldAI Classic", "koboldhorde": "AI Horde", "horde": "AI Horde", "novel": "NovelAI"}

# Where settings keep the model of a source, when it is not "<source>_model".
MODEL_SETTING = {"makersuite": "google_model"}
TEXT_MODEL_SETTING = {"ooba": "custom_model", "koboldcpp": ""}
NO_MODEL = "OR_Website"  # OpenRouter's own choice
# The text hosts with one address for everybody; all others stand under server_urls.
TEXT_HOSTS = {
    "mancer": "https://neuro.mancer.tech",
    "togetherai": "https://api.together.xyz",
    "infermaticai": "https://api.totalgpt.ai",
    "dreamgen": "https://dreamgen.com",
    "openrouter": "https://openrouter.ai/api",
    "featherless": "https://api.featherless.ai/v1",
}
PROXIED = frozenset("claude openai mistralai makersuite vertexai deepseek xai zai moonshot".split())
# Field of a request → setting, for sources that need more than a model.
MORE: dict[str, dict[str, str]] = {
    "custom": {"custom_url": "custom_url"},
    "azure_openai": {
        "azure_base_url": "azure_base_url",
        "azure_deployment_name": "azure_deployment_name",
        "azure_api_version": "azure_api_version",
    },
    "vertexai": {
        "vertexai_region": "vertexai_region",
        "vertexai_auth_mode": "vertexai_auth_mode",
        "vertexai_express_project_id": "vertexai_express_project_id",
    },
    "zai": {"zai_endpoint": "zai_endpoint"},
    "siliconflow": {"siliconflow_endpoint": "siliconflow_endpoint"},
    "minimax": {"minimax_endpoint": "minimax_endpoint"},
    "pollinations": {"pollinations_endpoint": "pollinations_endpoint"},
    "workers_ai": {"workers_ai_account_id": "workers_ai_account_id"},
    "nanogpt": {"nanogpt_provider": "nanogpt_provider", "nanogpt_payg_override": "nanogpt_payg_override"},
    "openrouter": {
        "provider": "openrouter_providers",
        "quantizations": "openrouter_quantizations",
        "allow_fallbacks": "openrouter_allow_fallbacks",
        "use_fallback": "openrouter_use_fallback",
        "middleout": "openrouter_middleout",
    },
}
# What a person typed for the current custom endpoint: headers may hold its key, so no profile gets them.
CUSTOM_EXTRAS = ("custom_include_body", "custom_exclude_body", "custom_include_headers")
POST_PROCESSING = "custom_prompt_post_processing"


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a model: `source` is a chat completion source or a text completion type, `fields` are what a request
    says beside the question."""

    kind: Literal["chat", "text"]
    source: str
    model: str
    fields: dict[str, Any] = field(default_factory=dict, repr=False)

    def secrets(self) -> list[str]:
        """What must stand in no error: a proxy's password, and the values of headers that a person typed."""
        headers = str(self.fields.get("custom_include_headers", "")).splitlines()
        values = [line.partition(":")[2].strip(" \"'").removeprefix("Bearer ") for line in headers]
        found = [str(self.fields.get("proxy_password", "")), *values]
        return [secret for secret in found if len(secret) >= SHORTEST_SECRET]


@dataclass(frozen=True, slots=True)
class Choice:
    """A route that can be chosen. Without a source it is one that cannot be asked from outside."""

    handle: str
    source: str = ""
    model: str = ""


class NoRoute(ValueError):
    """There is no such way: the profile is `gone`, its `kind` answers in a way of its own, it names no `address`, its
    `proxy` is gone, or `nothing` is set. `name` says which one."""

    def __init__(self, why: Why, name: str = "") -> None:
        super().__init__(f"{why} {name}".strip())
        self.why = why
        self.name = name


def kept(settings: Any) -> dict[str, Any]:
    """The few keys of settings.json that are looked at here."""
    found = table(settings)
    profiles = table(table(found.get("extension_settings")).get("connectionManager")).get("profiles")
    return {**{name: found.get(name) for name in KEPT}, "profiles": rows(profiles)}


def route_of(settings: Settings, handle: str) -> Route:
    """The way that a handle names, from `kept` settings. Raises NoRoute."""
    if not handle or handle == MAIN:
        return _main(settings)
    profile = _profile(settings, handle)
    if profile is None:
        raise NoRoute("gone", handle)
    return _of_profile(settings, profile)


def choices(settings: Settings) -> list[Choice]:
    """What can be chosen: "Main LLM", then the profiles in their order."""
    handles = [MAIN, *(handle for row in _profiles(settings) if (handle := handle_of(row)))]
    return [_choice(settings, handle) for handle in dict.fromkeys(handles)]


def handle_of(profile: Mapping[str, Any]) -> str:
    """The handle of a profile; "" without an id."""
    mark = _line(profile.get("id"), 100)[:MARK]
    return f"{_line(profile.get('name'), 120)} [{mark}]".strip() if mark else ""


def _choice(settings: Settings, handle: str) -> Choice:
    try:
        route = route_of(settings, handle)
    except NoRoute:
        return Choice(handle)
    return Choice(handle, route.source, route.model)


def _profile(settings: Settings, handle: str) -> dict[str, Any] | None:
    """By handle, else by the letters of its id, else by a name that only one has."""
    named = {handle_of(row): row for row in _profiles(settings)}
    if handle in named:
        return named[handle]
    mark = handle.rpartition(" [")[2].removesuffix("]")
    same_id = [row for row in named.values() if handle.endswith("]") and _line(row.get("id"), 100)[:MARK] == mark]
    same_name = [row for row in named.values() if _line(row.get("name"), 120) == handle]
    return next((found[0] for found in (same_id, same_name) if len(found) == 1), None)


def _profiles(settings: Settings) -> list[dict[str, Any]]:
    return [table(row) for row in rows(settings.get("profiles"))]


def _main(settings: Settings) -> Route:
    api = word(settings.get("main_api"), 60)
    if api == "openai":
        chosen = table(settings.get("oai_settings"))
        source = word(chosen.get("chat_completion_source"), 60) or "openai"
        extras = {name: chosen.get(name) for name in CUSTOM_EXTRAS} if source == "custom" else {}
        proxy = {name: chosen.get(name) for name in ("reverse_proxy", "proxy_password")}
        after = {POST_PROCESSING: chosen.get(POST_PROCESSING)}
        return _chat(settings, source, "", {**extras, **after, **_proxied(source, proxy)})
    if api == "textgenerationwebui":
        return _text(settings, word(table(settings.get(f"{api}_settings")).get("type"), 60) or "ooba", "", "", {})
    raise NoRoute("kind", OTHER_KINDS.get(api, api)) if api else NoRoute("nothing")


def _of_profile(settings: Settings, profile: Mapping[str, Any]) -> Route:
    api, model = word(profile.get("api"), 60), word(profile.get("model"), 300)
    address, secret = word(profile.get("api-url"), 1000), {"secret_id": profile.get("secret-id")}
    if not api:
        raise NoRoute("nothing", handle_of(profile))
    if api in TEXT_TYPES:
        return _text(settings, TEXT_TYPES[api], model, address, secret)
    if api in OTHER_KINDS or profile.get("mode") == "tc":
        raise NoRoute("kind", OTHER_KINDS.get(api, api))
    source = CHAT_ALIASES.get(api, api)
    proxy = _proxied(source, _named_proxy(settings, word(profile.get("proxy"), 200)))
    after = {POST_PROCESSING: profile.get("prompt-post-processing")}
    own_address = {next(iter(MORE[source])): address} if source in _ADDRESSED and address else {}
    return _chat(settings, source, model, {**secret, **after, **proxy, **own_address})


_ADDRESSED = ("custom", "vertexai", "zai", "siliconflow", "minimax", "pollinations")


def _chat(settings: Settings, source: str, model: str, over: dict[str, Any]) -> Route:
    chosen = table(settings.get("oai_settings"))
    model = model or word(chosen.get(MODEL_SETTING.get(source, f"{source}_model")), 300)
    more = {name: chosen.get(setting) for name, setting in MORE.get(source, {}).items()}
    fields = _sent({**more, **over})
    if source == "custom" and not fields.get("custom_url"):
        raise NoRoute("address", source)
    return Route("chat", source, "" if model == NO_MODEL else model, fields)


def _text(settings: Settings, kind: str, model: str, address: str, over: dict[str, Any]) -> Route:
    if kind not in TEXT_TYPES.values():
        raise NoRoute("kind", kind)
    chosen = table(settings.get("textgenerationwebui_settings"))
    address = address or TEXT_HOSTS.get(kind) or word(table(chosen.get("server_urls")).get(kind), 1000)
    if not address:
        raise NoRoute("address", kind)
    setting = TEXT_MODEL_SETTING.get(kind, f"{kind}_model")
    model = model or ("tgi" if kind == "huggingface" else word(chosen.get(setting), 300))
    fields = {**over, "api_server": address}
    if kind == "ollama":  # it would cut a prompt that is longer than its usual window, and say nothing
        fields["num_ctx"] = whole(settings.get("max_context"), 0, 0, 10_000_000)
    return Route("text", kind, model, _sent(fields))


def _named_proxy(settings: Settings, name: str) -> dict[str, Any]:
    """The proxy that a profile names. One that is gone is no reason to send the question somewhere else."""
    if name in ("", "None"):
        return {}
    found = next((table(row) for row in rows(settings.get("proxies")) if table(row).get("name") == name), None)
    if found is None:
        raise NoRoute("proxy", name)
    return {"reverse_proxy": found.get("url"), "proxy_password": found.get("password")}


def _proxied(source: str, proxy: dict[str, Any]) -> dict[str, Any]:
    return proxy if source in PROXIED and proxy.get("reverse_proxy") else {}


def _sent(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what says something, in a form that can be sent."""
    cut = {name: value[:LONGEST] if isinstance(value, str) else value for name, value in fields.items()}
    return {name: value for name, value in plain(cut, 4).items() if value or value is False}


def _line(value: Any, most: int) -> str:
    """One printable line."""
    return " ".join("".join(c if c.isprintable() else " " for c in word(value, most)).split())
