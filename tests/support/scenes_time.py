"""A year of an invented story, for the timeline: weeks that are full, two silences, dates that the story names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from memories.memory_file import file_for
from sync.models import Character, Chat, Message, Tavern
from tests.support.builders import make_block, make_character, make_chat

FACTS = (
    "The user lent her a brass lantern and never asked for it back.",
    "She counts the steps of the seventh stack: two hundred and nine.",
    "On 14 March 1312 the harbour froze and the ferry stayed away.",
    "She trusts the user with the key to the lower gate.",
    "Ólafur’s second letter arrived with the seal already broken.",
    "On Day 12 of the descent they shared the last of the bread.",
    "In the year 1288 her sister left for the coast.",
)
CHATS = {
    "First descent": (360, 250),
    "Tea with the tide": (300, 120),
    "Second descent": (170, 20),
    "Third descent": (60, 1),
}
SILENCES = ((262, 205), (110, 78))


def a_year(owner: User, tavern: Tavern) -> Character:
    """A character with four chats over one year and a few hundred memories."""
    character = make_character(tavern, "Mother Thistle", avatar="thistle-year.png")
    file = file_for(character)
    order = 0
    for name, (begin, end) in CHATS.items():
        days = list(range(begin, end, -3))
        chat = make_chat(character, len(days), name=name, **_ends(begin, end))
        messages = list(Message.objects.for_user(owner).filter(chat=chat).order_by("index"))
        for message, day in zip(messages, days, strict=True):
            message.sent_at = timezone.now() - timedelta(days=day)
        Message.objects.for_user(owner).bulk_update(messages, ["sent_at"])
        for index, day in enumerate(days):
            if not any(last <= day <= first for first, last in SILENCES):
                order += 1
                _block(file, chat, index, order)
    return character


def _ends(begin: int, end: int) -> dict[str, Any]:
    now = timezone.now()
    return {"first_at": now - timedelta(days=begin), "last_at": now - timedelta(days=end)}


def _block(file: object, chat: Chat, index: int, order: int) -> None:
    facts = [FACTS[(order + n) % len(FACTS)] for n in range(1 + order * 7 % 4)]
    make_block(file, chat.name, facts, order=order, chat=chat, first_index=index, last_index=index)  # type: ignore[arg-type]
