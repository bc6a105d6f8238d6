"""A copy of the SillyTavern fixture to change, and quick ways to change it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accounts.models import User
from sync.mirror import mirror
from sync.mirror_pass import PassReport
from sync.models import Chat, Tavern

FIXTURE = Path(__file__).parent.parent / "data" / "st-data" / "default-user"
MARA = "chats/Mara Veldt/Mara Veldt - 2025-06-15@15h06m40s000ms.jsonl"


NOBODY = 65534


class StFolder:
    """One linked copy. `look()` makes a pass."""

    def __init__(self, owner: User, root: Path, source: Path = FIXTURE) -> None:
        self.root = root
        shutil.copytree(source, root)
        self.tavern = Tavern.objects.create(owner=owner, name="data/wren", folder=str(root))

    def look(self) -> PassReport:
        self.tavern.refresh_from_db()
        return mirror(self.tavern)

    def chat(self, path: str = MARA) -> Chat:
        return self.tavern.chats.get(path=path)

    def texts(self, path: str = MARA) -> list[str]:
        return [row.text for row in self.chat(path).messages.order_by("index")]

    def lines(self, path: str = MARA) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / path).read_text("utf-8").split("\n")]

    def write(self, path: str, lines: list[Any]) -> None:
        """Replace a chat as SillyTavern does: a new file renamed over the old one."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name("fresh.tmp")
        fresh.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
        fresh.replace(target)

    def change(self, change: Callable[[list[dict[str, Any]]], None], path: str = MARA) -> None:
        lines = self.lines(path)
        change(lines)
        self.write(path, lines)

    def settings(self, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.root / "settings.json"
        value = json.loads(path.read_text("utf-8"))
        change(value)
        path.write_text(json.dumps(value), "utf-8")

    def issues(self) -> list[tuple[str, int | None, str, str]]:
        rows = self.tavern.issues.order_by("path", "line")
        return [(row.path, row.line, row.text, row.kept) for row in rows]


@contextmanager
def without_root() -> Iterator[None]:
    """File modes count for this process too, even when it belongs to root."""
    if not is_root():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def is_root() -> bool:
    """Whether this process ignores file modes."""
    return os.geteuid() == 0
