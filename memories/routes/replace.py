"""Find and replace."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import replace

urlpatterns: list[URLPattern] = [
    path("replace/", replace.page, name="replace"),
    path("replace/undo/", replace.undo, name="undo_replace"),
]
