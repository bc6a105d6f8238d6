"""Taking over from the CharMemory extension."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import migration

urlpatterns: list[URLPattern] = [
    path("settings/charmemory/", migration.folders, name="take_over"),
    path("settings/charmemory/<uuid:tavern_id>/", migration.page, name="take_over_from"),
]
