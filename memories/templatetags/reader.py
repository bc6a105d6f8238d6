"""Tags of pages about reading stretches of chats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from django import template

if TYPE_CHECKING:
    from memories.again_changed import ChangedStretch
    from memories.models import Memory

register = template.Library()


@register.simple_tag
def stretch_url(stretches: Mapping[UUID, ChangedStretch], memory: Memory) -> str:
    """Where the stretch that a memory came from is read again; "" when its chat is gone."""
    found = stretches.get(memory.pk) if stretches else None
    return found.url if found else ""
