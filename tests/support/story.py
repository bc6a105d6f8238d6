"""Rows for stories about memories: a linked tavern, a character, a chat with messages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from accounts.models import User
from sync.models import Character, Chat, Message, Tavern


def make_tavern(owner: User, name: str = "home") -> Tavern:
    return Tavern.objects.create(owner=owner, name=name, folder=f"/nowhere/{owner.username}/{name}")


def make_character(owner: User, name: str = "Flux", tavern: Tavern | None = None, **fields: Any) -> Character:
    fields.setdefault("description", f"{name} is a grey cat who distrusts vacuum cleaners.")
    fields.setdefault("avatar", f"{name}.png")
    return Character.objects.create(tavern=tavern or make_tavern(owner, f"of {name}"), name=name, **fields)


def make_chat(character: Character, name: str = "first chat", lines: Iterable[Any] = (), **fields: Any) -> Chat:
    """A chat with messages; each line is "text" (speakers alternate, the character first) or a dict of fields."""
    chat = Chat.objects.create(
        tavern=character.tavern, character=character, name=name, path=f"chats/{character.name}/{name}.jsonl", **fields
    )
    put_messages(chat, [one if isinstance(one, dict) else {"text": one} for one in lines])
    return chat


def put_messages(chat: Chat, lines: list[dict[str, Any]]) -> None:
    """Make the chat hold exactly these messages, as a mirror pass after an edit in SillyTavern would."""
    chat.messages.all().delete()
    Message.objects.bulk_create(message_rows(chat, lines))
    chat.message_count = len(lines)
    chat.version += 1
    chat.save()


def message_rows(chat: Chat, lines: list[dict[str, Any]]) -> list[Message]:
    seen: dict[tuple[str, str], int] = {}
    rows = []
    for index, line in enumerate(lines):
        role = line.get("role", "character" if index % 2 == 0 else "user")
        date = line.get("raw_date", f"2026-03-01T10:{index // 60:02d}:{index % 60:02d}.000Z")
        again = seen[role, date] = seen.get((role, date), -1) + 1
        name = line.get("name", "Alex" if role == "user" else chat.character.name if chat.character else "Guest")
        rows.append(
            Message(
                chat=chat,
                index=index,
                role=role,
                name=name,
                text=line["text"],
                raw_date=date,
                is_hidden=line.get("is_hidden", False),
                line=index + 2,
                identity=digest(role, date, str(again)),
                content=digest(line["text"]),
            )
        )
    return rows


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
