from __future__ import annotations

from django.apps import AppConfig


class CompanionConfig(AppConfig):
    name = "companion"

    def ready(self) -> None:
        from companion import install
        from sync import ways

        ways.makers.append(install.way)
