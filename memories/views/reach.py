"""Whether memories reach the prompt."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from memories.character_frame import character_frame
from memories.health import reach
from memories.scope_words import isolation
from memories.views.polled import polled
from sync.models import Character


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Each step to the prompt in words, with the setting of SillyTavern for what is off."""
    character = owned(Character, request, pk=character_id)
    context = {"hero": character_frame(request.user, character), "tab": "health", "reach": reach(character)}
    if request.htmx:
        return polled(request, "memories/_reach.html", context)
    context["isolation"] = isolation(request.user, character)
    return render(request, "memories/health.html", context)
