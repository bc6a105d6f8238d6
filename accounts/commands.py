"""What every `manage.py` command of the product shares: `--json`, `--user`, one line on failure, exit codes 0, 1, 2."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.models import User


class CommandFailed(CommandError):
    """The command understood what was asked and could not do it: one sentence, exit code 1."""


class WrongUsage(CommandFailed):
    """Options that do not fit together: one sentence, exit code 2 (as argparse does for single options)."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, returncode=2)


class ProductCommand(BaseCommand):
    """Base of all commands. Subclasses extend `add_arguments` (call super) and write `handle(self, *args, **options)`.

    Called from Python (`call_command`) a failure is raised as `CommandFailed`; on the command line it becomes one line
    on stderr, with `--json` also `{"error": "…"}` on stdout.
    """

    needs_user = True
    _json = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the result as one JSON object.")
        if self.needs_user:
            parser.add_argument("--user", required=True, metavar="NAME", help="Name of the account.")

    def execute(self, *args: Any, **options: Any) -> str | None:
        self._json = bool(options.get("json"))
        try:
            if self._called_from_command_line:  # type: ignore[attr-defined]
                _migrate_if_needed()
            return super().execute(*args, **options)
        except SystemCheckError:
            self._tell_failure(CommandFailed(_what_is_set_wrong()))
            sys.exit(1)
        except CommandFailed as failure:
            if not getattr(self, "_called_from_command_line", False):
                raise
            self._tell_failure(failure)
            sys.exit(failure.returncode)

    def person(self, options: dict[str, Any]) -> User:
        """The account named by `--user`; a name nobody has is a failure."""
        name = options["user"]
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandFailed(f"There is no account named “{name}”.")
        return person

    def say(self, text: str, data: dict[str, Any] | None = None) -> None:
        """Print `text` for people, or with `--json` the one object `data`."""
        if self._json:
            if data is not None:
                self.stdout.write(json.dumps(data, ensure_ascii=False, default=str))
        elif text:
            self.stdout.write(text)

    def _tell_failure(self, failure: CommandFailed) -> None:
        sentence = " ".join(str(failure).split())
        if self._json:
            self.stdout.write(json.dumps({"error": sentence}, ensure_ascii=False))
        self.stderr.write(sentence, lambda text: text)


def _what_is_set_wrong() -> str:
    return " ".join(f"{one.msg} {one.hint or ''}".strip() for one in run_checks() if one.is_serious())


def _migrate_if_needed() -> None:
    """A new or updated installation gets its tables from whatever command comes first, not only from `serve`."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)
