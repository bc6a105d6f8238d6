"""A character's small picture, or its initials."""

from __future__ import annotations

from uuid import UUID

from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from sync.models import Character
from sync.portraits import initials_svg, portrait_path


@require_safe
@cache_control(private=True, max_age=3600)
def portrait(request: PersonRequest, character_id: UUID) -> HttpResponseBase:
    character = owned(Character, request, pk=character_id)
    if character.portrait_hash:
        try:
            file = portrait_path(character.pk, character.portrait_hash).open("rb")
            return FileResponse(file, content_type="image/webp")
        except OSError:
            pass
    return HttpResponse(initials_svg(character), content_type="image/svg+xml")
