"""Take the words of one chat out of stored evidence, wherever it is stored (pure)."""

from __future__ import annotations

from typing import Any

SAID = "unsupported"  # the check whose detail is a model's reason (memories/quality_support.py)


class Eraser:
    """Takes quotes out of stored evidence: of blocks of the chat, and of its messages in bullets of several chats."""

    def __init__(self, chat: str, identities: set[str]) -> None:
        self.chat = chat
        self.identities = identities

    def evidence(self, items: Any, *, chat: str | None) -> Any:
        """The list without the words of the chat; the same object when it holds none. `chat` is the bullet's own."""
        if not isinstance(items, list):
            return items
        cleaned = [self._item(item, is_own=chat == self.chat) for item in items]
        return items if cleaned == items else cleaned

    def doubts(self, items: Any, *, chat: str | None) -> Any:
        """The doubts about a bullet of `chat` without what a model said about its messages."""
        if chat != self.chat or not isinstance(items, list):
            return items
        return [{**one, "detail": ""} if isinstance(one, dict) and one.get("check") == SAID else one for one in items]

    def plain(self, value: Any, chat: str | None = None) -> Any:
        """Any JSON value without the words of the chat."""
        if isinstance(value, list):
            return [self.plain(one, chat) for one in value]
        if not isinstance(value, dict):
            return value
        own = value["chat"] if isinstance(value.get("chat"), str) else chat
        known = {"evidence": self.evidence, "doubts": self.doubts}
        return {key: known[key](one, chat=own) if key in known else self.plain(one, own) for key, one in value.items()}

    def _item(self, item: Any, *, is_own: bool) -> Any:
        if not isinstance(item, dict) or not (is_own or str(item.get("identity", "")) in self.identities):
            return item
        return {key: one for key, one in item.items() if key not in ("quote", "content")}
