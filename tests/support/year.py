"""A year of chats in a folder, as SillyTavern would write it: messages come, are swiped, edited, deleted, branched,
renamed, restored from old copies. Each message carries a word of its own that no other has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.generated_root import card_png, card_v2, header, message, write_lines

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
PERSON = "Alex"
FOLDERS = ("characters", "groups", "group chats", "worlds", "user/files", "vectors")


@dataclass
class File:
    """One chat file: its name without ending, its header and its messages."""

    name: str
    head: dict[str, Any]
    lines: list[dict[str, Any]] = field(default_factory=list)
    copy: list[dict[str, Any]] | None = None  # what a backup would bring back


class Year:
    """The folder and what lies in it. With several `members` the chats are those of one group."""

    def __init__(self, root: Path, members: Iterable[str]) -> None:
        self.root, self.members = root, list(members)
        self.is_group = len(self.members) > 1
        for name in FOLDERS:
            (root / name).mkdir(parents=True)
        (root / "settings.json").write_text(json.dumps({"username": PERSON}), "utf-8")
        for name in self.members:
            (root / "characters" / f"{name}.png").write_bytes(card_png(card_v2(name)))
        self._numbers = count(1)
        self.files: list[File] = []
        self.open(0)
        self._new("a story", {})
        self.save()

    # --- what a person does ------------------------------------------------------------------------------------------

    @property
    def chat(self) -> File:
        """The chat that is open."""
        return self.files[self.here % len(self.files)]

    def open(self, number: int) -> None:
        """Look at another chat."""
        self.here = number

    def say(self, turns: int) -> None:
        """The person and a character speak in turn."""
        for _turn in range(turns):
            number = next(self._numbers)
            is_user = number % 3 == 0
            speaker = PERSON if is_user else self.members[number % len(self.members)]
            line = message(self._words(number), user=is_user, date=self._date(number), name=speaker)
            if self.is_group and not is_user:
                line["original_avatar"] = f"{speaker}.png"
            self.chat.lines.append(line)

    def swipe(self) -> None:
        """Another answer in place of the last one."""
        last = next((line for line in reversed(self.chat.lines) if not line["is_user"]), None)
        if last is not None:
            swipes = last.setdefault("swipes", [last["mes"]])
            swipes.append(f"{last['mes'].split(' took ')[0]} took turn {len(swipes)}.")
            last["swipe_id"], last["mes"] = len(swipes) - 1, swipes[-1]

    def edit(self, place: int) -> None:
        """Other words for one message."""
        if self.chat.lines:
            line = self.chat.lines[place % len(self.chat.lines)]
            line["mes"] += " Or so it was told."
            if "swipes" in line:
                line["swipes"][line["swipe_id"]] = line["mes"]

    def delete(self, place: int, number: int = 1) -> None:
        """Take messages out, but not all: a chat without any counts as lost (sync/mirror_messages.py)."""
        if len(self.chat.lines) > 1:
            start = place % len(self.chat.lines)
            number = min(number, len(self.chat.lines) - 1)
            del self.chat.lines[start : start + number]

    def insert(self, place: int) -> None:
        """A message that was not there before, in between."""
        number = next(self._numbers)
        line = message(self._words(number), user=True, date=self._date(number), name=PERSON)
        self.chat.lines.insert(place % (len(self.chat.lines) + 1), line)

    def branch(self, place: int) -> None:
        """A new chat with the messages up to one of them; it is opened."""
        if self.chat.lines:
            end = place % len(self.chat.lines) + 1
            parent = self.chat
            number = next(self._numbers)
            made = self._new(f"{parent.name} - Branch #{number}", {"main_chat": parent.name})
            made.lines = deepcopy(parent.lines[:end])
            self.open(len(self.files) - 1)

    def rename(self, number: int) -> None:
        """Another file name, the same chat."""
        self.chat.name = f"renamed {next(self._numbers)} {number}"

    def back_up(self) -> None:
        """Keep a copy of the open chat."""
        self.chat.copy = deepcopy(self.chat.lines)

    def restore(self) -> None:
        """Put the kept copy back over the chat."""
        if self.chat.copy:
            self.chat.lines = deepcopy(self.chat.copy)

    def remove(self) -> None:
        """Delete the open chat, unless it is the only one."""
        if len(self.files) > 1:
            self.files.remove(self.chat)

    # --- what lies on the disk ---------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        return self.root / ("group chats" if self.is_group else f"chats/{self.members[0]}")

    def save(self) -> None:
        """Write everything as it is now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = {one.name for one in self.files}
        for path in self.folder.glob("*.jsonl"):
            if path.stem not in names:
                path.unlink()
        for one in self.files:
            write_lines(self.folder / f"{one.name}.jsonl", [one.head, *one.lines])
        if self.is_group:
            group = {
                "id": "table",
                "name": "The table",
                "members": [f"{name}.png" for name in self.members],
                "disabled_members": [],
                "chats": [one.name for one in self.files],
                "chat_id": self.files[0].name,
            }
            (self.root / "groups" / "table.json").write_text(json.dumps(group), "utf-8")

    def numbers(self) -> set[int]:
        """The numbers of all messages that stand in a chat now."""
        return {number_of(line["mes"]) for one in self.files for line in one.lines}

    def _new(self, name: str, metadata: dict[str, Any]) -> File:
        head = header(0, f"slug-{next(self._numbers)}", **metadata)
        assert head is not None
        self.files.append(File(name, head))
        return self.files[-1]

    def _words(self, number: int) -> str:
        return f"Word{number} was said in Harrow; it took turn 0."

    def _date(self, number: int) -> str:
        return (START + timedelta(hours=number)).isoformat()


def number_of(text: str) -> int:
    """The number of the message that a text stands for."""
    return int(text.removeprefix("Word").split(" ", 1)[0])
