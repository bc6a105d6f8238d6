"""Review queues."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import review

urlpatterns: list[URLPattern] = [
    path("characters/<uuid:character_id>/review/<slug:kind>/", review.page, name="review"),
    path("memories/<uuid:memory_id>/right/", review.mark_right, name="mark_right"),
    path("memories/<uuid:memory_id>/still-right/", review.still_right, name="still_right"),
    path("memories/<uuid:memory_id>/sources/", review.sources, name="sources"),
    path("pairs/<uuid:pair_id>/decide/", review.decide, name="decide_pair"),
    path("pairs/<uuid:pair_id>/undo/", review.undo, name="undo_decision"),
]
