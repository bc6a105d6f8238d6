"""`manage.py connect_provider`: add or change a model connection, and test it."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User
from providers import connecting, queries
from providers import test_connection as testing
from providers.catalogue import PRESETS
from providers.connecting import ConnectionProblem, Wish
from providers.models import Connection


class Command(ProductCommand):
    help = "Connect a language model: a preset, an address, a model, a key from an environment variable."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--preset", required=True, choices=sorted(PRESETS), help="Kind of connection.")
        parser.add_argument("--base-url", default="", help="Address, for the presets local and custom.")
        parser.add_argument("--model", default="", help="Id of the model.")
        parser.add_argument("--key-env", default="", metavar="VAR", help="Environment variable that holds the key.")
        parser.add_argument("--default", action="store_true", help="Use it for all that no other one was given.")
        parser.add_argument("--no-test", action="store_true", help="Save without trying it.")

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        wish = Wish(
            preset=options["preset"], base_url=options["base_url"], model=options["model"], key=_key(options["key_env"])
        )
        try:
            connection = _saved(person, wish, is_default=options["default"])
        except ConnectionProblem as problem:
            raise CommandFailed(problem.message) from problem
        verdict = None if options["no_test"] else testing.test_connection(connection)
        if verdict is not None and not verdict.ok:
            nearest = f" Nearest: {', '.join(verdict.names)}." if verdict.names else ""
            raise CommandFailed(f"{verdict.message} {verdict.hint}{nearest} The connection is saved.")
        said = verdict.message if verdict else f"{connection.name} is saved, not tested."
        self.say(f"{said} {verdict.hint if verdict else ''}".strip(), _facts(connection, verdict))


def _key(variable: str) -> str:
    if not variable:
        return ""
    if not os.environ.get(variable):
        raise WrongUsage(f"The environment variable {variable} is empty.")
    return os.environ[variable]


def _saved(person: User, wish: Wish, *, is_default: bool) -> Connection:
    """The same preset and address again changes the connection instead of adding a second one."""
    rows = queries.connections(person).filter(preset=wish.preset)
    if PRESETS[wish.preset].address_is_typed:
        rows = rows.filter(base_url=connecting.address_for(person, wish))
    connection = rows.first()
    if connection is None:
        return connecting.add_connection(person, wish, is_default=is_default or None)
    connecting.change_connection(connection, connecting.keeping_name(connection, wish))
    if is_default:
        connecting.make_default(connection)
    return connection


def _facts(connection: Connection, verdict: testing.Verdict | None) -> dict[str, Any]:
    return {
        "id": str(connection.pk),
        "name": connection.name,
        "preset": connection.preset,
        "base_url": connection.base_url,
        "model": connection.model,
        "key": connection.key_hint,
        "default": connection.is_default,
        "test": verdict.as_json() if verdict else None,
    }
