from __future__ import annotations

from django.apps import AppConfig

HOUR = 3600.0


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        from jobs import reaper
        from jobs.registry import every

        every(reaper.EVERY, "jobs.reap", reaper.reap)
        # Hourly, because a computer at home is seldom on for a whole day.
        every(HOUR, "jobs.tidy", reaper.tidy)
