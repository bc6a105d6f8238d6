from __future__ import annotations

from django.apps import AppConfig


class CharMemSiteConfig(AppConfig):
    name = "charmem_site"

    def ready(self) -> None:
        from charmem_site import celery, checks, wires  # noqa: F401

        wires.connect()
