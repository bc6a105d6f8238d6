"""System checks: anything a person can misconfigure gets a sentence and an id."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

LOOPBACK_BINDS = ("127.", "localhost", "[::1]")


@register()
def debug_stays_at_home(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """DEBUG shows source and settings to anybody who can reach the port."""
    if settings.DEBUG and not settings.BIND.startswith(LOOPBACK_BINDS):
        return [
            Error(
                f"CHARMEM_DEBUG is on while CHARMEM_BIND={settings.BIND} can be reached from other machines.",
                hint="Turn CHARMEM_DEBUG off, or bind 127.0.0.1.",
                id="charmem.E001",
            )
        ]
    return []
