"""Exports and the import of an export."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
