"""`manage.py serve [--lan]`: everything with one command. The supervisor holds no Django (charmem_site/serve)."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    """Hand over to the supervisor. manage.py goes there straight; this is for `call_command` and for `help`."""

    help = "Runs CharMem: pages and background work, until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lan", action="store_true", help="answer the whole local network, not only this machine")
        parser.add_argument("--json", action="store_true", help="print one JSON object with the addresses")

    def handle(self, *args: Any, **options: Any) -> None:
        flags = [f"--{name}" for name in ("lan", "json") if options[name]]
        os.execv(sys.executable, [sys.executable, "-m", "charmem_site.serve", *flags])  # noqa: S606  our own interpreter
