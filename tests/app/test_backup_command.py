"""`backup` and `restore` as a person types them."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from accounts.commands import CommandFailed
from accounts.models import User
from charmem_site.serve.lock import DataFolderLock
from jobs.models import Turn
from tests.support.builders import make_job
from tests.support.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def run(*args: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*args, "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_a_backup_goes_to_the_backup_folder_and_comes_back(tmp_path: Path) -> None:
    make_person("alice", role="admin")
    made = run("backup")
    assert Path(made["path"]).parent == tmp_path / "backups"
    User.objects.all().delete()
    assert run("restore", made["path"])["rows"] == made["rows"] == 1
    assert User.objects.get().username == "alice"


def test_restore_refuses_while_the_server_runs(tmp_path: Path) -> None:
    make_person("alice", role="admin")
    made = run("backup", "--to", str(tmp_path / "b.zip"))
    make_person("bob")
    with DataFolderLock(tmp_path), pytest.raises(CommandFailed, match=r"Stop the server first: .* Nothing was changed"):
        run("restore", made["path"])
    assert User.objects.count() == 2


@pytest.mark.parametrize("sign", ["a chunk at work", "a clock that ticks"])
def test_restore_refuses_beside_workers_that_no_supervisor_holds(tmp_path: Path, settings: Any, sign: str) -> None:
    alice = make_person("alice", role="admin")
    made = run("backup", "--to", str(tmp_path / "b.zip"))
    bob = make_person("bob")
    if sign == "a chunk at work":
        make_job(bob, state="running", heartbeat_at=timezone.now())
    else:
        settings.BROKER_URL = "redis://127.0.0.1:1/0"
        Turn.objects.create(name="jobs.reap", started_at=timezone.now() - timedelta(seconds=15))
    with pytest.raises(CommandFailed, match=r"^Workers still run, .* Nothing was changed\.$"):
        run("restore", made["path"])
    assert User.objects.count() == 2
    with time_machine.travel(timezone.now() + timedelta(seconds=60)):
        run("restore", made["path"])
    assert list(User.objects.all()) == [alice]


def test_a_missing_file_and_an_unwritable_place_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="There is no file"):
        run("restore", str(tmp_path / "nowhere.zip"))
    (tmp_path / "plain").write_text("a file, no folder")
    with pytest.raises(CommandFailed, match="could not be written"):
        run("backup", "--to", str(tmp_path / "plain" / "b.zip"))
