"""Consolidation: choose, run, review, apply."""

from __future__ import annotations

from django.urls import path

from memories.views import consolidation as views
from memories.views import consolidation_review as review

urlpatterns = [
    path("characters/<uuid:character_id>/consolidate/", views.choose, name="consolidate"),
    path("characters/<uuid:character_id>/consolidate/groups/", views.groups, name="consolidate_groups"),
    path("characters/<uuid:character_id>/consolidate/price/", views.price, name="consolidate_price"),
    path("proposals/<uuid:proposal_id>/again/", views.again, name="consolidation_again"),
    path("proposals/<uuid:proposal_id>/keep/", review.keep, name="consolidation_keep"),
    path("proposals/<uuid:proposal_id>/let-go/", review.let_go, name="consolidation_let_go"),
    path("proposals/<uuid:proposal_id>/apply/", review.apply, name="consolidation_apply"),
    path("proposals/<uuid:proposal_id>/compare/<uuid:other_id>/", review.compare, name="consolidation_compare"),
]
