"""Search over everything a person owns."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import search

urlpatterns: list[URLPattern] = [
    path("search/", search.page, name="search"),
    path("memories/<uuid:memory_id>/place/", search.memory_place, name="memory_place"),
    path("blocks/<uuid:block_id>/place/", search.block_place, name="block_place"),
]
