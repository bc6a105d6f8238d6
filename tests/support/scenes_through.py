"""A person whose models are asked through their own SillyTavern."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from accounts.models import User
from providers.models import Connection, ModelListing
from sync.models import Tavern
from tests.support.builders import make_tavern
from tests.support.tavern_models import connect_through, set_tavern

LISTED = (
    {"id": "Main LLM", "name": "openrouter, z-ai/glm-4.7", "upstream": "openrouter"},
    {"id": "Fast and good enough for memories [3f2a91bc]", "name": "deepseek, deepseek-chat", "upstream": "deepseek"},
    {"id": "Kitchen [77aa0000]", "name": "llamacpp", "upstream": "llamacpp"},
    {"id": "Horde [99990000]", "name": "cannot be asked from here"},
)


def add_through(person: User) -> dict[str, Any]:
    """Two linked SillyTavern folders with an address, and a connection through the first one."""
    first, _second = (_tavern(person, name) for name in ("data/mira", "data/mira on the tablet"))
    connection = connect_through(first)
    ModelListing.objects.create(connection=connection, models_json=list(LISTED))
    return {"through": connection}


def _tavern(person: User, name: str) -> Tavern:
    folder = Path(tempfile.mkdtemp(prefix="charmem-scene-"))
    set_tavern(folder, "http://127.0.0.1:5000")
    return make_tavern(person, name=name, folder=str(folder), url="http://127.0.0.1:8000")


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of such a connection."""
    row: Connection = scene["through"]
    return {
        "through-new": "/settings/models/new/sillytavern/",
        "through": f"/settings/models/{row.pk}/",
        "through-choose": f"/settings/models/{row.pk}/choose/",
    }
