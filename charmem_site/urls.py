"""Where each app's pages hang. Every name is `app:page`."""

from __future__ import annotations

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from charmem_site.healthz import healthz

APPS = ("accounts", "jobs", "providers", "sync", "memories", "compaction", "companion")

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("", include("charmem_site.page_urls")),
    *(path("", include(f"{app}.urls")) for app in APPS if find_spec(f"{app}.urls")),
]
