"""A small SillyTavern user folder on disk with one character, for stories about the Data Bank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accounts.models import User
from sync.models import Attachment, Character, Tavern
from tests.support.builders import make_attachment, make_character, make_tavern

VECTORS = {"source": "vllm", "use_alt_endpoint": True, "alt_endpoint_url": "http://e", "vllm_model": "m1"}


def make_folder(path: Path) -> Path:
    """A user folder as SillyTavern makes it, without content."""
    for name in ("user/files", "vectors", "extensions", "characters", "chats"):
        (path / name).mkdir(parents=True)
    (path / "settings.json").write_text("{}", encoding="utf-8")
    return path


def link_folder(owner: User, path: Path, **fields: Any) -> Tavern:
    """A tavern row on a fresh folder on disk."""
    return make_tavern(owner, folder=str(make_folder(path)), vectors={**VECTORS, "enabled_files": True}, **fields)


def make_file(character: Character, text: str | None, **fields: Any) -> Attachment:
    """An attachment whose file holds `text` (None: no file)."""
    attachment = make_attachment(character, **{"file_present": text is not None, **fields})
    if text is not None:
        path_of(attachment).write_text(text, encoding="utf-8")
    return attachment


def path_of(attachment: Attachment) -> Path:
    return attachment.tavern.root / attachment.url.lstrip("/")


def text_of(attachment: Attachment) -> str:
    return path_of(attachment).read_text(encoding="utf-8")


def make_mara(owner: User, path: Path, **fields: Any) -> Character:
    """Mara Veldt in a folder of her own."""
    return make_character(link_folder(owner, path, **fields), "Mara Veldt")
