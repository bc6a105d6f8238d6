"""Search over everything a person owns."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
