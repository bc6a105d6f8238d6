"""The activity log."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import activity

urlpatterns: list[URLPattern] = [
    path("activity/", activity.page, name="activity"),
    path("activity/live/", activity.live, name="activity_live"),
    path("activity/download/", activity.download, name="activity_download"),
    path("activity/verbose/", activity.verbose, name="activity_verbose"),
    path("activity/erase/", activity.erase, name="activity_erase"),
    path("activity/<int:activity_id>/", activity.text, name="activity_text"),
]
