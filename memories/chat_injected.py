"""What was put into the prompt for one message, as whoever saw it recorded it (models/activity.py, Snapshot)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from memories.models import Snapshot
from sync.models import Chat, Message

SOURCES = {"charmemory": gettext_lazy("the CharMemory extension"), "companion": gettext_lazy("the companion")}


@dataclass(frozen=True)
class Part:
    """One thing that stood in the prompt: its title, where it stood, and its words."""

    title: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Record:
    """One snapshot, by kinds of what was injected."""

    source: str
    at: str
    memories: list[str] = field(default_factory=list)
    lore: list[Part] = field(default_factory=list)
    prompts: list[Part] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.memories or self.lore or self.prompts)


def records_of(user: User, chat: Chat, message: Message) -> list[Record]:
    """Everything that was recorded for a message, the newest first."""
    rows = Snapshot.objects.for_user(user).filter(chat=chat, identity=message.identity).order_by("-created_at")
    return [_record(row) for row in rows]


def _record(row: Snapshot) -> Record:
    data = row.data if isinstance(row.data, dict) else {}
    return Record(
        str(SOURCES.get(row.source, row.source)),
        str(data.get("at", "")),
        [text for one in _rows(data, "memories") if (text := str(one.get("text", "")))],
        [Part(str(one.get("comment", "")), str(one.get("content", "")), _keys(one)) for one in _rows(data, "lore")],
        [Part(str(one.get("label", "")), str(one.get("content", "")), _where(one)) for one in _rows(data, "prompts")],
        {str(name): int(n) for name, n in _tokens(data).items() if isinstance(n, int)},
    )


def _rows(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = data.get(name)
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _tokens(data: dict[str, Any]) -> dict[str, Any]:
    tokens = data.get("tokens")
    return tokens if isinstance(tokens, dict) else {}


def _keys(one: dict[str, Any]) -> str:
    keys = one.get("keys")
    return ", ".join(str(key) for key in keys) if isinstance(keys, list) else str(keys or "")


def _where(one: dict[str, Any]) -> str:
    depth = one.get("depth")
    return _("depth %(n)s") % {"n": depth} if depth is not None else ""
