"""Pages that belong to no app: the frame's own fragments, help and about."""

from __future__ import annotations

from django.urls import path

from charmem_site import views

app_name = "charmem_site"
urlpatterns = [
    path("frame/live/", views.live, name="frame_live"),
    path("more/", views.more, name="more"),
]
