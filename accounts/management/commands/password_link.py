"""A link for somebody who lost the password."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from accounts import first_run, password_links
from accounts.commands import CommandFailed, ProductCommand


class Command(ProductCommand):
    help = "Print a link with which an account gets a new password. It works once, for three days."

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        if not person.is_active:
            raise CommandFailed(f"The account “{person.username}” is closed. Open it again on the People page first.")
        base = settings.SITE_URL or f"http://{first_run.reachable(settings.BIND)}"
        link = base.rstrip("/") + password_links.make(person)
        self.say(f"{person.username} sets a new password here (once, within three days):\n  {link}", {"link": link})
