"""One proposal: its page, and what can be done to the work on it."""

from __future__ import annotations

from django.urls import path

from memories.views import proposals as views

PROPOSAL = "proposals/<uuid:proposal_id>/"

urlpatterns = [
    path(PROPOSAL, views.page, name="proposal"),
    path(f"{PROPOSAL}live/", views.live, name="proposal_live"),
    path(f"{PROPOSAL}stop/", views.stop, name="proposal_stop"),
    path(f"{PROPOSAL}go-on/", views.go_on, name="proposal_go_on"),
    path(f"{PROPOSAL}discard/", views.discard, name="proposal_discard"),
    path(f"{PROPOSAL}bring-back/", views.bring_back, name="proposal_bring_back"),
]
