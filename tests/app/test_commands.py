"""What all commands share: exit codes, one line on failure, one JSON object on success."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.db import connections

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User
from tests.support.fake_model import FakeModel
from tests.support.st_folder import FIXTURE


@pytest.fixture(autouse=True)
def one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command closes the database when it ends; here that is the test's own."""
    monkeypatch.setattr(connections, "close_all", lambda: None)


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


PARTS = {"web", "worker"}  # started by serve and by containers, not by people
APPS = ("accounts", "charmem_site", "companion", "compaction", "jobs", "memories", "providers", "search", "sync")
# Each command: what it can't do (exit 1), how it is called wrongly (exit 2).
WALK: dict[str, tuple[list[str], list[str]]] = {
    "backup": (["--to", "/proc/nowhere/charmem.zip"], ["--to"]),
    "bootstrap": (["--admin", "zoe", "--password-file", "/nowhere"], ["--admin", "zoe"]),
    "connect_provider": (["--user", "alice", "--preset", "local"], ["--user", "alice", "--preset", "nonsense"]),
    "consolidate": (["--user", "alice", "--character", "Nobody"], ["--user", "alice", "--character", "x", "--apply"]),
    "extract": (["--user", "alice", "--character", "Nobody"], ["--user", "alice"]),
    "link_sillytavern": (["--user", "alice", "--folder", "/nowhere"], ["--user", "alice"]),
    "password_link": (["--user", "nobody"], []),
    "restore": (["/nowhere/charmem.zip"], []),
    "rotate_vault": ([], ["nonsense"]),
    "serve": ([], ["--nonsense"]),
    "status": (["--user", "nobody"], []),
    "sync": (["--user", "alice"], []),
}


def run(name: str, *arguments: str) -> int:
    command = load_command_class(get_commands()[name], name)
    try:
        command.run_from_argv(["manage.py", name, *(() if name == "serve" else ("--skip-checks",)), *arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_every_command_is_walked() -> None:
    ours = {name for name, app in get_commands().items() if app in APPS}
    assert ours - PARTS == set(WALK)


@pytest.mark.parametrize("name", sorted(set(WALK) - {"rotate_vault", "serve"}))
def test_a_command_that_cannot_says_why_in_one_line(
    alice: User, capsys: pytest.CaptureFixture[str], settings: Any, tmp_path: Path, name: str
) -> None:
    settings.DATA_DIR = tmp_path
    impossible, _wrong = WALK[name]
    assert run(name, *impossible) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.strip().endswith("."), said.err
    assert run(name, *impossible, "--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"error": said.err.strip()}


@pytest.mark.parametrize("name", sorted(WALK))
def test_every_command_called_wrongly_ends_with_2(alice: User, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(name, *WALK[name][1]) == 2
    assert capsys.readouterr().out == ""


def test_every_command_that_succeeds_prints_one_object(
    db: None, capsys: pytest.CaptureFixture[str], settings: Any, tmp_path: Path
) -> None:
    """From nothing to memories, as somebody would do it over ssh. Backups: test_backup_command.py."""
    settings.DATA_DIR, settings.VAULT_KEY_FILE = tmp_path / "data", tmp_path / "data" / "vault-key"
    (tmp_path / "password").write_text("seven red lanterns\n")
    shutil.copytree(FIXTURE, tmp_path / "wren")
    ann = ["--user", "ann"]
    said: dict[str, Any] = {}
    with FakeModel() as model:
        local = ["--preset", "local", "--base-url", model.base_url, "--model", "fake-small", "--no-test"]
        for name, arguments in {
            "bootstrap": ["--admin", "ann", "--password-file", str(tmp_path / "password")],
            "link_sillytavern": [*ann, "--folder", str(tmp_path / "wren")],
            "connect_provider": [*ann, *local],
            "sync": ann,
            "extract": [*ann, "--all", "--wait"],
            "status": ann,
            "password_link": ann,
            "rotate_vault": [],
        }.items():
            assert run(name, *arguments, "--json") == 0, name
            out = capsys.readouterr()
            said[name] = json.loads(out.out)
            assert isinstance(said[name], dict) and out.out.count("\n") == 1 and out.err == "", name
    written = {file["name"] for file in said["extract"]["files"] if file["state"] == "done"}
    assert written == {one["file"] for one in said["status"]["characters"]}
    assert all(one["memories"] and not one["unread"] for one in said["status"]["characters"])


def test_what_is_set_wrong_is_said_in_one_line(alice: User, capsys: pytest.CaptureFixture[str], settings: Any) -> None:
    settings.LOCAL_NETWORKS = ["kitchen"]
    command = load_command_class("memories", "status")
    with pytest.raises(SystemExit) as end:
        command.run_from_argv(["manage.py", "status", "--user", "alice"])
    assert end.value.code == 1
    assert capsys.readouterr().err == (
        "CHARMEM_LOCAL_NETWORKS: kitchen is not a network. A network looks like 192.168.1.0/24.\n"
    )
