"""Reading many chats in one go."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import batch

urlpatterns: list[URLPattern] = [
    path("batch/", batch.page, name="batch"),
    path("batch/start/", batch.start, name="batch_start"),
]
