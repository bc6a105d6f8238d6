"""Reading by itself for looking at: a chat in which something new was said, values of one's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import User
from memories import choosing
from memories.models import ChatActivity
from sync.models import Character, Chat
from tests.support.builders import make_group

OWN = {"interval": 12, "quiet_from": "23:00", "quiet_until": "07:00", "daily_budget": Decimal("0.25")}


def add_news(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """Something was said in `chat` since its folder was linked; character and group have values of their own."""
    ChatActivity.objects.update_or_create(chat=chat, defaults={"messages": 900, "new_at": timezone.now()})
    choosing.set_own(alice, character, OWN, among=tuple(OWN))
    group = make_group(character.tavern, character, name="At the tide table")
    choosing.set_own(alice, group, {"is_automatic": False}, among=("is_automatic",))
    return {"own_group": group}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of these choices, by the name of their picture."""
    return {
        "extraction": "/settings/extraction/",
        "own-extraction": f"/characters/{scene['character'].pk}/extraction/",
        "group-extraction": f"/groups/{scene['own_group'].pk}/extraction/",
    }
