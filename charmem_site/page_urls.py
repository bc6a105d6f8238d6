"""Pages that belong to no app: the frame's own fragments, help and about."""

from __future__ import annotations

from django.urls import path

from charmem_site import help as guide
from charmem_site import views

app_name = "charmem_site"
urlpatterns = [
    path("frame/live/", views.live, name="frame_live"),
    path("more/", views.more, name="more"),
    path("help/", guide.contents, name="help"),
    path("help/<slug:topic>/", guide.chapter, name="help_chapter"),
    path("about/", guide.about, name="about"),
]
