"""A group with speakers of one's choice, for stories about who is who."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.test import Client

from sync.models import Character, Chat, Group, Message
from tests.support.builders import STORY_START, make_chat
from tests.support.pages import toast

Line = tuple[str, str, str]  # name, avatar ("" for none), text; the person's lines have the name "Wren"


def say_in(group: Group, lines: Sequence[Line], *, user: str = "Wren", **fields: Any) -> Chat:
    """A chat of the group in which these lines are said."""
    chat = make_chat(group, [text for _name, _avatar, text in lines], user=user, **fields)
    for row, (name, avatar, _text) in zip(chat.messages.order_by("index"), lines, strict=True):
        row.name, row.sender_avatar = name, avatar
        row.role = Message.Role.USER if name == user else Message.Role.CHARACTER
        row.sent_at = STORY_START + timedelta(minutes=row.index)
        row.save(update_fields=["name", "sender_avatar", "role", "sent_at"])
    return chat


def press_undo(client: Client) -> None:
    """What the toast of the last change offers."""
    form = toast(client).select_one("form")
    assert form is not None, "there is no Undo"
    client.post(str(form["action"]))


def turns(*characters: Character, times: int = 2) -> list[Line]:
    """The person and each of these in turn."""
    one_round = [("Wren", "", "And you?"), *((who.name, who.avatar, f"{who.name} speaks.") for who in characters)]
    return one_round * times
