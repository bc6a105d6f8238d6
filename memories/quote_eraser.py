"""Take the words of one chat out of stored evidence, wherever it is stored (pure)."""

from __future__ import annotations

from typing import Any


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

    def plain(self, value: Any, chat: str | None = None) -> Any:
        """Any JSON value without the words of the chat."""
        if isinstance(value, list):
            return [self.plain(one, chat) for one in value]
        if not isinstance(value, dict):
            return value
        own = value["chat"] if isinstance(value.get("chat"), str) else chat
        return {
            key: self.evidence(one, chat=own) if key == "evidence" else self.plain(one, own)
            for key, one in value.items()
        }

    def _item(self, item: Any, *, is_own: bool) -> Any:
        if not isinstance(item, dict) or not (is_own or str(item.get("identity", "")) in self.identities):
            return item
        return {key: one for key, one in item.items() if key not in ("quote", "content")}
