from __future__ import annotations

from django.apps import AppConfig


class CountingConfig(AppConfig):
    name = "tests.services.counting"

    def ready(self) -> None:
        from tests.support.kinds import use_test_kinds

        use_test_kinds()
