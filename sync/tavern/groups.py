"""Group files: who sits in a group and which chats it has (spec/sillytavern §4)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sync.tavern.text import rows, whole, word

MOST_MEMBERS = 1000


class GroupError(ValueError):
    """These bytes hold no group; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A member by its avatar file. A disabled member still belongs to the group."""

    avatar: str
    is_disabled: bool


@dataclass(frozen=True, slots=True)
class GroupFile:
    """What is kept of a group."""

    name: str
    seats: list[Seat]
    chat_ids: list[str]
    current_chat: str
    generation_mode: int


def read_group(data: bytes) -> GroupFile:
    """The group in a file of `groups/`."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise GroupError("This group is not written in UTF-8.") from None
    except (ValueError, RecursionError):
        raise GroupError("This group is not valid JSON.") from None
    if not isinstance(value, dict) or not isinstance(value.get("members"), list):
        raise GroupError("This file holds no group.")
    disabled = {word(avatar, 300) for avatar in rows(value.get("disabled_members"))}
    avatars = dict.fromkeys(word(avatar, 300) for avatar in value["members"][:MOST_MEMBERS])
    chat_ids = dict.fromkeys(word(chat, 500) for chat in rows(value.get("chats")))
    return GroupFile(
        name=word(value.get("name"), 500),
        seats=[Seat(avatar, avatar in disabled) for avatar in avatars if avatar],
        chat_ids=[chat for chat in chat_ids if chat],
        current_chat=word(value.get("chat_id"), 500),
        generation_mode=whole(value.get("generation_mode"), 0, 0, 100),
    )
