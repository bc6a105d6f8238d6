"""Settings of extraction and the switch for automatic reading."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import automatic as views

urlpatterns: list[URLPattern] = [
    path("settings/extraction/", views.settings, name="extraction_settings"),
    path("characters/<uuid:character_id>/extraction/", views.of_character, name="own_extraction"),
    path("characters/<uuid:character_id>/auto/", views.auto, name="auto"),
    path("groups/<uuid:group_id>/extraction/", views.of_group, name="group_extraction"),
    path("groups/<uuid:group_id>/auto/", views.group_auto, name="group_auto"),
]
