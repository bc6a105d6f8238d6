"""Import, conversion and copying between files."""

from __future__ import annotations

from django.urls import path

from memories.views import conversion as views
from memories.views import conversion_check as check

PROPOSAL = "proposals/<uuid:proposal_id>/"

urlpatterns = [
    path("characters/<uuid:character_id>/import/", views.choose, name="import_text"),
    path("characters/<uuid:character_id>/reformat/", views.reformat, name="reformat"),
    path("characters/<uuid:character_id>/copy/", views.copy, name="copy_memories"),
    path(f"{PROPOSAL}import/lines/", check.lines_left, name="import_lines"),
    path(f"{PROPOSAL}import/known/", check.known, name="import_known"),
    path(f"{PROPOSAL}import/again/", check.again, name="import_again"),
    path(f"{PROPOSAL}import/back/", check.step_back, name="import_back"),
    path(f"{PROPOSAL}import/save/", check.save, name="import_save"),
    path(f"{PROPOSAL}import/next/", check.following, name="import_next"),
]
