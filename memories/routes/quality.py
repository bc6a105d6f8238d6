"""The quality gate: its settings, and decisions about what it held back."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import held, quality

urlpatterns: list[URLPattern] = [
    path("settings/quality/", quality.settings, name="quality"),
    path("held/<uuid:held_id>/decide/", held.decide, name="held_decide"),
    path("characters/<uuid:character_id>/held/all/", held.decide_all, name="held_all"),
    path("characters/<uuid:character_id>/held/undo/", held.undo, name="held_undo"),
]
