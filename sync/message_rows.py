"""Message rows in bulk: the one place where the ORM is passed by, because a first import writes tens of thousands.

Plain INSERT with the model's own column names and value conversion; it runs on every engine.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sync.models import Message
from sync.tavern.chats import ChatLine

FIELDS = (
    "chat",
    "index",
    "role",
    "name",
    "text",
    "is_hidden",
    "is_tagged",
    "sender_avatar",
    "raw_date",
    "sent_at",
    "swipe",
    "swipe_count",
    "line",
    "identity",
    "content",
)
Values = tuple[Any, ...]


class RowMaker:
    """Turns lines of one chat into database values."""

    def __init__(self, chat_id: UUID) -> None:
        self._chat = Message._meta.get_field("chat").get_db_prep_save(chat_id, connection)
        self._date = connection.ops.adapt_datetimefield_value

    def __call__(self, line: ChatLine, identity: str) -> Values:
        """The values of `FIELDS` for a line."""
        return (
            self._chat,
            line.index,
            line.role,
            line.name,
            line.text,
            line.is_hidden,
            line.is_tagged,
            line.sender_avatar,
            line.raw_date,
            self._date(line.sent_at),
            line.swipe,
            line.swipe_count,
            line.line,
            identity,
            line.content,
        )


def insert(rows: list[Values]) -> int:
    """Write rows in one transaction; how many there were."""
    if rows:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(_statement(connection.vendor), rows)
    return len(rows)


def message(chat_id: UUID, line: ChatLine, identity: str, pk: int) -> Message:
    """A stored row as it should be now, for `bulk_update`."""
    fields: dict[str, Any] = {name: getattr(line, name) for name in FIELDS if name not in {"chat", "identity"}}
    return Message(pk=pk, chat_id=chat_id, identity=identity, **fields)


@cache
def _statement(_vendor: str) -> str:
    quote = connection.ops.quote_name
    columns = (quote(str(Message._meta.get_field(name).column)) for name in FIELDS)  # type: ignore[union-attr]
    places = ", ".join(["%s"] * len(FIELDS))
    return f"INSERT INTO {quote(Message._meta.db_table)} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608  names come from the model
