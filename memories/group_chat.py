"""A group's chat as the memories of one member see it: who sits in which group, and who the others are."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import User
from memories.transcript import Chunk
from sync.models import Character, Chat


def members(user: User) -> QuerySet[Character]:
    """The characters that sit in a group with a chat, by name."""
    rows = Character.objects.for_user(user).filter(
        gone_at=None,
        seats__group__gone_at=None,
        seats__group__chats__gone_at=None,
        seats__group__chats__message_count__gt=0,
    )
    return rows.distinct().order_by("name", "pk")


def chats_with(user: User, member: Character) -> QuerySet[Chat]:
    """The chats of the groups that this character sits in, the newest first."""
    rows = Chat.objects.for_user(user).filter(group__members__character=member, group__gone_at=None)
    rows = rows.filter(gone_at=None, message_count__gt=0).select_related("group").distinct()
    return rows.order_by("-last_at", "name", "pk")


def participants(chat: Chat, chunk: Chunk, member: Character) -> list[str]:
    """The others, each once: the persona first, then the members by seat (spec/charmemory §3.6).

    The persona is whoever speaks for the person in these messages; when they are silent, the one of SillyTavern's
    settings. A muted member is there all the same; a seat without a card has no name.
    """
    if chat.group is None:
        return []
    personas = [entry.name for entry in chunk.entries if entry.role == "user" and entry.name]
    seats = chat.group.members.exclude(character=None).exclude(character=member).select_related("character")
    others = [seat.character.name for seat in seats if seat.character is not None]
    names = [*(personas or [chat.tavern.persona_name]), *others]
    plain = (" ".join(name.split()) for name in names)
    return [name for name in dict.fromkeys(plain) if name]
