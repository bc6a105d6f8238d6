"""Each row of the catalogue asks its provider in that provider's documented form: address, headers, body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from providers.catalogue import PRESETS
from providers.complete import complete
from providers.connecting import Wish, add_connection, listed_models, refresh_listing
from providers.models import Connection
from providers.pages import offered_presets
from tests.support.fake_model import FakeModel, Recorded
from tests.support.processes import ROOT
from tests.support.wire import QUESTION, no_pauses, redirect_preset

pytestmark = pytest.mark.django_db
KEY = "key-of-alice-0123456789"
BEARER = {"Authorization": f"Bearer {KEY}"}
KEY_HEADERS = {"Authorization", "x-api-key", "x-goog-api-key"}
SYSTEM, USER = QUESTION.system, QUESTION.user

# key: (address, path of a question, headers, default model)
OPENAI_LIKE: dict[str, tuple[str, str, dict[str, str], str]] = {
    "openai": ("https://api.openai.com/v1", "/v1/chat/completions", BEARER, "gpt-4.1-nano"),
    "openrouter": (
        "https://openrouter.ai/api/v1",
        "/api/v1/chat/completions",
        {**BEARER, "X-Title": "CharMem"},
        "openai/gpt-4.1-nano",
    ),
    "groq": ("https://api.groq.com/openai/v1", "/openai/v1/chat/completions", BEARER, "llama-3.3-70b-versatile"),
    "deepseek": ("https://api.deepseek.com", "/chat/completions", BEARER, "deepseek-chat"),
    "mistral": ("https://api.mistral.ai/v1", "/v1/chat/completions", BEARER, "mistral-small-latest"),
    "xai": ("https://api.x.ai/v1", "/v1/chat/completions", BEARER, "grok-3-mini-fast"),
    "nanogpt": ("https://nano-gpt.com/api/v1", "/api/v1/chat/completions", BEARER, ""),
    "nvidia": ("https://integrate.api.nvidia.com/v1", "/v1/chat/completions", BEARER, "meta/llama-3.3-70b-instruct"),
    "pollinations": ("https://text.pollinations.ai/openai", "/openai/chat/completions", {}, "openai"),
    "local": ("http://127.0.0.1:11434/v1", "/v1/chat/completions", BEARER, ""),
    "custom": ("https://example.com/v1", "/v1/chat/completions", BEARER, ""),
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    no_pauses(monkeypatch)
    with FakeModel() as server:
        server.needs_version = False
        yield server


def connect(monkeypatch: pytest.MonkeyPatch, alice: User, fake: FakeModel, preset: str) -> Connection:
    """A connection as a person makes it, to a provider whose name leads to the fake."""
    redirect_preset(monkeypatch, preset, fake.root_url)
    wish = Wish(preset, base_url=f"{fake.root_url}/v1", key=KEY if PRESETS[preset].key_use != "none" else "")
    return add_connection(alice, wish)


def asked(row: Connection, fake: FakeModel) -> Recorded:
    """The one request that a question leads to."""
    row.model = row.model or "some-model"
    assert "Mira said" in complete(row, QUESTION).text
    (sent,) = fake.requests
    return sent


def keys_in(sent: Recorded) -> dict[str, str]:
    return {name: value for name, value in sent.headers.items() if name in KEY_HEADERS}


def test_every_row_has_a_documented_form() -> None:
    assert set(PRESETS) == {*OPENAI_LIKE, "anthropic", "gemini", "builtin", "sillytavern"}
    for key, (address, _path, _headers, model) in OPENAI_LIKE.items():
        assert (PRESETS[key].base_url, PRESETS[key].default_model) == (address, model)


@pytest.mark.parametrize("preset", OPENAI_LIKE)
def test_openai_and_those_who_speak_like_it(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    _address, path, headers, model = OPENAI_LIKE[preset]
    sent = asked(connect(monkeypatch, alice, fake, preset), fake)
    assert (sent.method, sent.path) == ("POST", path)
    assert headers.items() <= sent.headers.items()
    assert keys_in(sent) == {name: value for name, value in headers.items() if name in KEY_HEADERS}
    assert sent.headers["Content-Type"] == "application/json" and "Cookie" not in sent.headers
    assert sent.body == {
        "model": model or "some-model",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}],
        "max_tokens": 300,
        "temperature": 0.3,
        "stream": False,
    }


def test_anthropic(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PRESETS["anthropic"].base_url == "https://api.anthropic.com/v1"
    sent = asked(connect(monkeypatch, alice, fake, "anthropic"), fake)
    assert (sent.method, sent.path) == ("POST", "/v1/messages")
    assert keys_in(sent) == {"x-api-key": KEY} and sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.body == {
        "model": "claude-sonnet-4-5-20250929",
        "system": SYSTEM,
        "messages": [{"role": "user", "content": USER}],
        "max_tokens": 300,
        "temperature": 0.3,
        "stream": False,
    }


def test_gemini(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PRESETS["gemini"].base_url == "https://generativelanguage.googleapis.com/v1beta"
    sent = asked(connect(monkeypatch, alice, fake, "gemini"), fake)
    assert (sent.method, sent.path) == ("POST", "/v1beta/models/gemini-flash-latest:generateContent")
    assert keys_in(sent) == {"x-goog-api-key": KEY}
    assert sent.body == {
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "contents": [{"role": "user", "parts": [{"text": USER}]}],
        "generationConfig": {"maxOutputTokens": 300, "temperature": 0.3},
    }


@pytest.mark.parametrize("preset", [key for key, row in PRESETS.items() if row.lists_models and row.wire])
def test_lists_of_models(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, preset: str) -> None:
    row = connect(monkeypatch, alice, fake, preset)
    assert refresh_listing(row) == ["fake-small", "fake-large"] == listed_models(row)
    sent, *more = fake.requests
    assert [one.path for one in more] == (["/api/subscription/v1/models"] if preset == "nanogpt" else [])
    assert sent.method == "GET" and sent.path.endswith("/models") and len(keys_in(sent)) == 1
    queries: dict[str, str] = {"anthropic": "limit=1000", "gemini": "pageSize=1000", "nanogpt": "detailed=true"}
    assert sent.query == queries.get(preset, "")


def test_prices_in_nanogpts_list(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    pricing: dict[str, Any] = {"prompt": 0.5, "completion": 1.5, "currency": "USD", "unit": "per_million_tokens"}
    fake.facts["fake-small"] = {"pricing": pricing}
    row = connect(monkeypatch, alice, fake, "nanogpt")
    refresh_listing(row)
    assert row.listing.models_json[0] == {"id": "fake-small", "in": "0.5", "out": "1.5", "upstream": "fake"}


@pytest.mark.parametrize(("preset", "field"), [("openrouter", "context_length"), ("groq", "context_window")])
def test_the_list_tells_how_much_a_model_takes(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, alice_client: Client, preset: str, field: str
) -> None:
    fake.facts["fake-small"] = {field: 131072}
    row = connect(monkeypatch, alice, fake, preset)
    refresh_listing(row)
    Connection.objects.for_user(alice).update(model="fake-small")
    page = alice_client.get(f"/settings/models/{row.pk}/").content.decode()
    assert "By this list it takes 131,072 tokens at once." in page


@pytest.mark.parametrize("name", ["03-models", "13-commands"])
def test_the_guide_names_them_all(name: str) -> None:
    text = (ROOT / "docs" / "guide" / f"{name}.md").read_text("utf-8").lower()
    missing = [row.key for row in PRESETS.values() if str(row.label).lower() not in text and f"`{row.key}`" not in text]
    assert missing == []


def test_the_order_in_which_they_are_offered() -> None:
    keys = [row.key for row in offered_presets() if row.key != "builtin"]
    assert keys[:4] == ["local", "openrouter", "anthropic", "sillytavern"] and keys[-1] == "custom"
    names = [str(PRESETS[key].label).lower() for key in keys[4:-1]]
    assert names == sorted(names) and list(PRESETS)[-1] == "builtin"


@pytest.mark.parametrize("row", [row for row in PRESETS.values() if row.reach == "hosted"], ids=lambda row: row.key)
def test_a_hosted_provider_is_reached_by_https_and_says_where_keys_come_from(row: Any) -> None:
    assert row.base_url.startswith("https://") and not row.base_url.endswith("/")
    assert row.key_use == "none" or row.key_page.startswith("https://")
