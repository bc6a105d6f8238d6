"""The timeline of a character's memories."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from memories.character_frame import character_frame
from memories.memory_filters import is_uuid
from memories.timeline import ByChat, ByStory
from sync.models import Character, Chat


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Memories by the day of their chat, or with ?by=story by the date that they name."""
    character = owned(Character, request, pk=character_id)
    context: dict[str, Any] = {"hero": character_frame(request.user, character), "tab": "timeline"}
    by_story = request.GET.get("by") == "story"
    context |= _by_story(request, character) if by_story else _by_chat(request, character)
    return render(request, "memories/timeline.html", context)


def _by_chat(request: PersonRequest, character: Character) -> dict[str, Any]:
    wanted = request.GET.get("chat", "")
    chat = owned(Chat, request, pk=wanted) if is_uuid(wanted) else None
    times = ByChat(request.user, character, chat)
    week = _week(request.GET.get("at", ""))
    pager = times.page(times.page_with(week) if week and "page" not in request.GET else request.GET.get("page"))
    groups = times.groups(pager.object_list[0] if pager.object_list else [])
    scale = times.scale
    return {
        "times": times,
        "chat": chat,
        "page": pager,
        "groups": groups,
        "bars": scale.bars(times.counts, [g.day for g in groups if isinstance(g.day, date)]) if scale else [],
        "quiet": [(one, scale.stretch(one.first, one.last)) for one in times.silences] if scale else [],
        "months": scale.months() if scale else [],
        "weeks": scale.weeks if scale else 1,
        "lanes": times.lanes(scale) if scale else [],
    }


def _by_story(request: PersonRequest, character: Character) -> dict[str, Any]:
    times = ByStory(request.user, character)
    pager = times.page(request.GET.get("page"))
    groups = times.groups(pager.object_list)
    return {
        "times": times,
        "page": pager,
        "groups": groups,
        "bars": times.bars(groups),
        "marks": times.marks,
        "by_story": True,
    }


def _week(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
