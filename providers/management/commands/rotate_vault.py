"""`manage.py rotate_vault`: a new vault key for all sealed secrets."""

from __future__ import annotations

from typing import Any

from accounts.commands import CommandFailed, ProductCommand
from providers import rotation


class Command(ProductCommand):
    help = "Make a new vault key, seal every secret with it, forget the old keys."
    needs_user = False

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = rotation.rotate()
        except rotation.RotationFailed as failure:
            raise CommandFailed(str(failure)) from failure
        said = f"{report.resealed} secrets are sealed with the new key; {report.dropped} old keys are forgotten."
        if report.unreadable:
            said += f" {report.unreadable} could not be opened with any key and stay as they are; enter them again."
        self.say(said, report.as_json())
