"""Layouts of memory files."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import layouts

urlpatterns: list[URLPattern] = [
    path("characters/<uuid:character_id>/layout/", layouts.page, name="layout"),
]
