"""A group for stories about reading: members with cards, chats in which they speak by their avatar."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from sync.models import Character, Chat, Group, GroupMember, Message, Tavern
from tests.support import story


def make_group(owner: User, *names: str, tavern: Tavern | None = None, name: str = "The wardens") -> Group:
    """A group whose members have a card each; a name may be "Name=file.png"."""
    tavern = tavern or story.make_tavern(owner, "shared house")
    group = Group.objects.create(tavern=tavern, file_id=f"of {name}", name=name)
    for position, one in enumerate(names):
        called, _is, avatar = one.partition("=")
        avatar = avatar or f"{called}.png"
        card = story.make_character(owner, called, tavern, avatar=avatar)
        GroupMember.objects.create(group=group, avatar=avatar, character=card, position=position)
    return group


def members(group: Group) -> list[Character]:
    """The characters by seat."""
    seats = group.members.order_by("position").select_related("character__tavern__owner")
    return [one.character for one in seats if one.character is not None]


def make_chat(group: Group, lines: list[str], name: str = "one evening", **fields: Any) -> Chat:
    """A chat; each line is "Name: text", and whoever is no member is the person."""
    chat = Chat.objects.create(tavern=group.tavern, group=group, name=name, path=f"group chats/{name}.jsonl", **fields)
    put(chat, lines)
    return chat


def put(chat: Chat, lines: list[str], start: int = 0) -> None:
    """Make the chat hold exactly these messages."""
    cards = {one.name: one.avatar for one in members(chat.group)}  # type: ignore[arg-type]
    rows: list[dict[str, Any]] = []
    for line in lines:
        name, _colon, text = line.partition(": ")
        role = Message.Role.CHARACTER if name in cards else Message.Role.USER
        rows.append({"name": name, "text": text, "role": role, "raw_date": f"d{start + len(rows):04d}"})
    story.put_messages(chat, rows)
    for row in chat.messages.all():
        if row.name in cards:
            chat.messages.filter(pk=row.pk).update(sender_avatar=cards[row.name])
