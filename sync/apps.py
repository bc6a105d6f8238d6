from __future__ import annotations

from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "sync"

    def ready(self) -> None:
        """Make known the first import, the pass every ten seconds, sealed columns, what can be searched, and the way to
        models through SillyTavern."""
        from jobs.registry import every, register
        from providers import through
        from providers.vault import register_sealed
        from search.registry import register as make_searchable
        from sync.search_rows import KINDS
        from sync.through_sillytavern import PRESET, ThroughSillyTavern
        from sync.watch import EVERY, FIRST_IMPORT, look_at_all

        register_sealed("sync.Tavern", "password_sealed", "basic_auth_sealed")
        register(FIRST_IMPORT)
        through.register(PRESET, ThroughSillyTavern())
        every(EVERY, "sync", look_at_all)
        for kind in KINDS:
            make_searchable(kind)
