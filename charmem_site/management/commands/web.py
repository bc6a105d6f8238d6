"""`manage.py web [--prepare]`: the pages alone, as `serve` and the containers start them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from charmem_site.serve import lifeline
from charmem_site.serve.messages import PREPARED, SETUP, tell
from charmem_site.serve.options import BadBind, split_bind


class Command(BaseCommand):
    """Answer web requests at CHARMEM_BIND."""

    help = "Answers web requests (a part of serve)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--prepare", action="store_true", help="first bring tables and static files up to date")

    def handle(self, *args: Any, **options: Any) -> None:
        from charmem_site.serve.web import serve

        try:
            host, port = split_bind(settings.BIND)
        except BadBind as error:
            raise CommandError(str(error)) from error
        if options["prepare"]:
            self._prepare()
        lifeline.hold()
        serve(host, port)

    def _prepare(self) -> None:
        from charmem_site.serve import prepare

        self.check()
        prepare.everything()
        link = self._setup_link()
        if link:
            tell(SETUP, link)
        tell(PREPARED)

    def _setup_link(self) -> str | None:
        """The one-time link for the first account, None when somebody has one."""
        if find_spec("accounts.first_run") is None:
            return None
        from accounts import first_run

        link: str | None = first_run.setup_link()
        return link
