from __future__ import annotations

from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "sync"
