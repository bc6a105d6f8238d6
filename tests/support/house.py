"""A copy of the SillyTavern fixture in which people talk, as saved chats that CharMem sees at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from accounts.models import User
from sync import watch
from sync.models import Character, Chat, Group
from tests.support.st_folder import StFolder

NEW = "chats/Mara Veldt/Mara Veldt - a new night.jsonl"
TEN = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)


class House(StFolder):
    """Alice's folder, read once, and ways to have people talk in it."""

    def __init__(self, owner: User, root: Path) -> None:
        super().__init__(owner, root)
        self.look()

    @property
    def mara(self) -> Character:
        return self.tavern.characters.get(name="Mara Veldt")

    @property
    def group(self) -> Group:
        return self.tavern.groups.get(name="Night Ferry")

    def talk(self, replies: int, path: str = NEW, *, name: str = "Mara Veldt", avatar: str = "") -> Chat:
        """So many replies of a character, each after a word of the person; saved and seen."""
        lines = self.lines(path) if (self.root / path).exists() else [{"chat_metadata": {"integrity": path}}]
        lines += [line for n in range(replies) for line in exchange(len(lines) + 2 * n, name, avatar)]
        self.write(path, lines)
        self.watch()
        return self.chat(path)

    def watch(self) -> None:
        self.tavern.refresh_from_db()
        watch.look(self.tavern)


def exchange(number: int, name: str, avatar: str, since: datetime = TEN) -> list[dict[str, Any]]:
    """A word of the person and a reply, said so many seconds after `since`."""
    at = since + timedelta(seconds=number)
    more = {"original_avatar": avatar} if avatar else {}
    asked = f"Question {number}: what does the tide bring tonight?"
    answer = f"Answer {number}: the tide brings lantern number {number} to the quay."
    return [
        {"name": "Ren", "is_user": True, "is_system": False, "send_date": f"{at:%Y-%m-%dT%H:%M:%S}.000Z", "mes": asked},
        {"name": name, "is_user": False, "send_date": f"{at:%Y-%m-%dT%H:%M:%S}.500Z", "mes": answer, **more},
    ]
