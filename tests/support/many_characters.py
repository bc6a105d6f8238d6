"""A user folder of SillyTavern with many characters who all have as much to be read."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.generated_root import card_png, card_v2, header, message, write_lines

START = datetime(2025, 3, 1, 10, 0, tzinfo=UTC)
FOLDERS = ("characters", "chats", "groups", "group chats", "worlds", "user/files", "vectors")
WORDS = "harbour lantern promise bakery winter letter garden bridge sister captain apple music window river".split()


def make_folder(folder: Path, *, characters: int, messages: int, chats: int = 1) -> Path:
    """Each character with `chats` chats of `messages` messages of 40 words; the same every time."""
    dice = random.Random(11)
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"username": "Ren"}), encoding="utf-8")
    for number in range(characters):
        name = f"Keeper{number}"
        (folder / "characters" / f"{name}.png").write_bytes(card_png(card_v2(name)))
        for chat in range(chats):
            lines = _lines(dice, name, f"integrity-{number}-{chat}", messages, START + timedelta(days=chat))
            write_lines(folder / "chats" / name / f"{name} - {chat}.jsonl", lines)
    return folder


def _lines(dice: random.Random, name: str, integrity: str, messages: int, start: datetime) -> list[Any]:
    lines: list[Any] = [header(0, integrity)]
    for index in range(messages):
        text = " ".join(dice.choices(WORDS, k=40)) + f" number {index}."
        date = (start + timedelta(minutes=index)).isoformat()
        lines.append(message(text, user=bool(index % 2), date=date, name="Ren" if index % 2 else name))
    return lines
