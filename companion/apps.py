from __future__ import annotations

from django.apps import AppConfig


class CompanionConfig(AppConfig):
    name = "companion"
