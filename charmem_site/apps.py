from __future__ import annotations

from django.apps import AppConfig


class CharMemSiteConfig(AppConfig):
    name = "charmem_site"

    def ready(self) -> None:
        from charmem_site import celery, checks, wires  # noqa: F401
        from charmem_site.backup import daily
        from jobs import registry

        wires.connect()
        registry.every(900, "daily backup", daily.backup_tick)
