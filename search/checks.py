"""Search needs SQLite's FTS5; nearly every Python has it, and everything else works without."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Warning, register

from search import engines


@register()
def full_text_index_is_there(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Some Pythons are built with an SQLite that has no full-text index."""
    if engines.has_full_text():
        return []
    return [
        Warning(
            "The SQLite of this Python has no full-text index (FTS5), so Search finds nothing.",
            hint="Use a Python whose SQLite has FTS5, or PostgreSQL with CHARMEM_DATABASE_URL.",
            id="search.W001",
        )
    ]
