"""Addresses of the companion: what it calls, and what a person presses to install it."""

from __future__ import annotations

from django.urls import path

from companion import api, views

app_name = "companion"

urlpatterns = [
    path("companion/api/<uuid:tavern_id>/pending/", api.pending, name="pending"),
    path("companion/api/<uuid:tavern_id>/done/", api.done, name="done"),
    path("companion/api/<uuid:tavern_id>/seen/", api.seen, name="seen"),
    path("settings/sillytavern/<uuid:tavern_id>/companion/", views.show, name="tavern"),
    path("settings/sillytavern/<uuid:tavern_id>/companion/install/", views.install, name="install"),
    path("settings/sillytavern/<uuid:tavern_id>/companion/remove/", views.remove, name="remove"),
]
