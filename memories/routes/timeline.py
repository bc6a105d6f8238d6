"""Timeline of a character."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import timeline

urlpatterns: list[URLPattern] = [
    path("characters/<uuid:character_id>/timeline/", timeline.page, name="timeline"),
]
