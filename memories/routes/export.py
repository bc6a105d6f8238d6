"""Exports and the import of an export."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import export, import_export

urlpatterns: list[URLPattern] = [
    path("characters/<uuid:character_id>/export/", export.of_character, name="export"),
    path("export/", export.everything, name="export_all"),
    path("import/", import_export.page, name="import_export"),
]
