from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        from jobs import registry
        from memories import extraction, try_it, write_back
        from memories.search_rows import KINDS
        from search.registry import register as make_searchable

        registry.register(write_back.job_kind())
        registry.register(extraction.job_kind())
        registry.register(try_it.job_kind())
        for kind in KINDS:
            make_searchable(kind)
