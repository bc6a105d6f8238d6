from __future__ import annotations

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "search"

    def ready(self) -> None:
        from jobs.registry import every
        from search import checks, index  # noqa: F401

        every(index.EVERY, "search", index.tick)
