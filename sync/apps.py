from __future__ import annotations

from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "sync"

    def ready(self) -> None:
        """Make the first import known as a job, and the pass that happens every ten seconds."""
        from jobs.registry import every, register
        from sync.watch import EVERY, FIRST_IMPORT, look_at_all

        register(FIRST_IMPORT)
        every(EVERY, "sync", look_at_all)
