"""Hold a chat while something is written about it, so that forgetting it waits and then erases that too."""

from __future__ import annotations

from uuid import UUID

from accounts.models import User
from sync.models import Chat


def hold_chat(user: User, chat_id: UUID) -> bool:
    """Lock the chat's row until the transaction ends; False when the person forgot the chat already.

    Called inside a transaction. An update holds the row on SQLite and PostgreSQL alike, and changes nothing.
    """
    rows = Chat.objects.for_user(user).filter(pk=chat_id, forgotten_at=None)
    return bool(rows.update(forgotten_at=None))
