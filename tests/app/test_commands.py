"""What all commands share: exit codes, one line on failure, one JSON object on success."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User


class Greet(ProductCommand):
    """A command for this test."""

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("--fail", choices=["work", "usage"])

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        if options["fail"] == "work":
            raise CommandFailed("The door\nis shut.")
        if options["fail"] == "usage":
            raise WrongUsage("--fail fits nothing.")
        self.say(f"Hello {person.name}.", {"name": person.name})


def on_the_command_line(*arguments: str) -> int:
    try:
        Greet().run_from_argv(["manage.py", "greet", "--skip-checks", *arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_success_speaks_to_people_or_to_programs(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_the_command_line("--user", "alice") == 0
    assert capsys.readouterr().out == "Hello alice.\n"
    assert on_the_command_line("--user", "alice", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"name": "alice"}


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--user", "alice", "--fail", "work"], 1, "The door is shut.\n"),
        (["--user", "alice", "--fail", "usage"], 2, "--fail fits nothing.\n"),
        (["--user", "nobody"], 1, "There is no account named “nobody”.\n"),
    ],
)
def test_failure_is_one_line_and_a_code(
    alice: User, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, line: str
) -> None:
    assert on_the_command_line(*arguments) == code
    assert capsys.readouterr().err == line
    assert on_the_command_line(*arguments, "--json") == code
    assert json.loads(capsys.readouterr().out) == {"error": line.strip()}


@pytest.mark.parametrize("arguments", [[], ["--user", "alice", "--nonsense"], ["--user", "alice", "--fail", "maybe"]])
def test_wrong_usage_is_two(alice: User, arguments: list[str]) -> None:
    assert on_the_command_line(*arguments) == 2


def test_called_from_python_a_failure_is_an_exception(alice: User) -> None:
    with pytest.raises(CommandFailed, match="The door"):
        call_command(Greet(), "--user", "alice", "--fail", "work", skip_checks=True)
