"""Consolidation: choose, run, review, apply."""

from __future__ import annotations

from django.urls import path

from memories.views import consolidation as views
from memories.views import consolidation_review as review
from memories.views import proposals

urlpatterns = [
    path("characters/<uuid:character_id>/consolidate/", views.choose, name="consolidate"),
    path("characters/<uuid:character_id>/consolidate/groups/", views.groups, name="consolidate_groups"),
    path("characters/<uuid:character_id>/consolidate/price/", views.price, name="consolidate_price"),
    path("proposals/<uuid:proposal_id>/", proposals.page, name="proposal"),
    path("proposals/<uuid:proposal_id>/live/", views.live, name="consolidation_live"),
    path("proposals/<uuid:proposal_id>/stop/", views.stop, name="consolidation_stop"),
    path("proposals/<uuid:proposal_id>/go-on/", views.go_on, name="consolidation_go_on"),
    path("proposals/<uuid:proposal_id>/again/", views.again, name="consolidation_again"),
    path("proposals/<uuid:proposal_id>/keep/", review.keep, name="consolidation_keep"),
    path("proposals/<uuid:proposal_id>/let-go/", review.let_go, name="consolidation_let_go"),
    path("proposals/<uuid:proposal_id>/apply/", review.apply, name="consolidation_apply"),
    path("proposals/<uuid:proposal_id>/discard/", review.discard, name="consolidation_discard"),
    path("proposals/<uuid:proposal_id>/compare/<uuid:other_id>/", review.compare, name="consolidation_compare"),
]
