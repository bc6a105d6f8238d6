"""What SillyTavern is set to, written into a settings.json, and connections that lead through it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accounts.models import User
from providers.connecting import Wish, add_connection
from providers.models import Connection
from sync.models import Tavern
from tests.support.tavern import merged

FAST = {
    "id": "3f2a91bc-0d4e-4e0a-9a55-6f1f0a3a7c11",
    "name": "Fast",
    "mode": "cc",
    "api": "custom",
    "model": "fast-model",
    "prompt-post-processing": "strict",
}
KITCHEN = {
    "id": "77aa0000-1111-4222-8333-944445555666",
    "name": "Kitchen",
    "mode": "tc",
    "api": "llamacpp",
    "model": "",
}
HORDE = {"id": "99990000-1111-4222-8333-944445555666", "name": "Horde", "mode": "tc", "api": "horde"}


def set_tavern(folder: Path, model_url: str, **more: Any) -> None:
    """Point a user folder at a model: "Main LLM" (custom, fake-llm) and three Connection Profiles."""
    path = folder / "settings.json"
    before = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    over = {
        "main_api": "openai",
        "oai_settings": {
            "chat_completion_source": "custom",
            "custom_url": f"{model_url}/v1",
            "custom_model": "fake-llm",
        },
        "extension_settings": {
            "connectionManager": {
                "profiles": [{**FAST, "api-url": f"{model_url}/v1"}, {**KITCHEN, "api-url": model_url}, HORDE]
            }
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name("settings.fresh")
    fresh.write_text(json.dumps(merged(merged(before, over), more)), "utf-8")
    fresh.replace(path)


def connect_through(tavern: Tavern, model: str = "", **fields: Any) -> Connection:
    """A connection through this person's tavern; "" is Main LLM."""
    person: User = tavern.owner
    more = {"temperature": 0.3, **fields}
    return add_connection(person, Wish("sillytavern", base_url=f"sillytavern:{tavern.pk}", model=model, more=more))
