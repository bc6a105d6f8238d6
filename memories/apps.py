from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        from jobs import registry
        from memories import write_back

        registry.register(write_back.job_kind())
