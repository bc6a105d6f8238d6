"""A folder in which the CharMemory extension was at work, for the page that takes over from it."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from accounts.models import User
from sync.mirror import mirror
from sync.models import Tavern
from tests.support.st_folder import FIXTURE

OWN = {
    "enabled": True,
    "interval": 30,
    "minCooldownMinutes": 5,
    "maxMessagesPerExtraction": 45,
    "perChat": True,
    "source": "provider",
    "selectedProvider": "openrouter",
    "providers": {
        "openrouter": {"apiKey": "sk-or-v1-not-a-key", "model": "z-ai/glm-4.7"},
        "nanogpt": {"apiKey": "not-a-key-either", "model": "deepseek/deepseek-v3.2", "systemPrompt": "Be brief."},
    },
    "extractionPrompt": "Read the new messages about {{charName}} and note what will matter in a year.\n\n"
    "{{charCard}}\n\n{{existingMemories}}\n\n{{recentMessages}}",
    "consolidationPrompts": {"aggressive": "Keep one line for each person and event. Names stay."},
    "characterFileNames": {"Dr. Q O'NeilSmith.png": "doctor-diary.md"},
}


def add_extension(alice: User) -> dict[str, Any]:
    """A linked folder with settings, points and records of the extension. It lies in a temporary folder."""
    root = Path(tempfile.mkdtemp(prefix="charmem-scene-")) / "default-user"
    shutil.copytree(FIXTURE, root)
    settings = json.loads((root / "settings.json").read_text("utf-8"))
    settings["extension_settings"]["charMemory"] = OWN
    (root / "settings.json").write_text(json.dumps(settings), "utf-8")
    for number, path in enumerate(sorted((root / "chats").glob("*/*.jsonl"))):
        _note(path, number)
    tavern = Tavern.objects.create(owner=alice, name="old laptop", folder=str(root))
    mirror(tavern)
    return {"old_folder": tavern}


def _note(path: Path, number: int) -> None:
    lines = path.read_text("utf-8").split("\n")
    try:
        header = json.loads(lines[0])
    except ValueError:
        return
    record = {"memories": [{"text": "A promise was made."}], "timestamp": "4:09:36 PM"}
    header.setdefault("chat_metadata", {})["charMemory"] = {
        "lastExtractedIndex": number + 1,
        "injectionData": {"1": record},
    }
    path.write_text("\n".join([json.dumps(header), *lines[1:]]), "utf-8")


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """Pages of this scene by the names of their pictures."""
    return {
        "take-over": f"/settings/charmemory/{scene['old_folder'].pk}/",
        "take-over-folders": "/settings/charmemory/",
    }
