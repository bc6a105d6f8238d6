"""A backup made on SQLite comes back on PostgreSQL, row for row."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.services import postgres_database, require

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "data" / "st-data" / "default-user"


def manage(data: Path, *args: str, **environment: str) -> dict[str, Any]:
    """Run a command with `--json` on the installation in `data`; its answer."""
    env = {
        **os.environ,
        "CHARMEM_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "charmem_site.settings",
        **environment,
    }
    command = [sys.executable, str(ROOT / "manage.py"), *args, "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.postgres
def test_a_sqlite_backup_restores_into_postgresql(tmp_path: Path) -> None:
    require("postgres")
    tavern = tmp_path / "tavern" / "default-user"
    shutil.copytree(FOLDER, tavern)
    password = tmp_path / "password"
    password.write_text("correct horse battery\n")
    old, new = tmp_path / "old", tmp_path / "new"
    roots = {"CHARMEM_SILLYTAVERN_ROOTS": str(tmp_path / "tavern")}
    manage(old, "bootstrap", "--admin", "alice", "--password-file", str(password))
    manage(old, "link_sillytavern", "--user", "alice", "--folder", str(tavern), **roots)
    manage(old, "sync", "--user", "alice", **roots)
    made = manage(old, "backup", "--to", str(tmp_path / "b.zip"), "--with-keys")

    on_postgres = {"CHARMEM_DATABASE_URL": postgres_database(), **roots}
    restored = manage(new, "restore", made["path"], **on_postgres)
    assert restored["rows"] == made["rows"] > 50

    again = manage(new, "backup", "--to", str(tmp_path / "again.zip"), **on_postgres)
    assert again["rows"] == made["rows"]
    before, after = (
        manage(old, "status", "--user", "alice", **roots),
        manage(new, "status", "--user", "alice", **on_postgres),
    )
    assert counts(before) == counts(after)
    # Automatic numbers go on after the restored ones: a pass can add rows.
    with (tavern / "chats" / "Mara Veldt" / "new.jsonl").open("w") as chat:
        chat.write('{"chat_metadata":{},"user_name":"unused","character_name":"unused"}\n')
        chat.write('{"name":"Mara","is_user":false,"mes":"Back again.","send_date":"2026-01-01T10:00:00.000Z"}')
    manage(new, "sync", "--user", "alice", **on_postgres)
    assert manage(new, "backup", "--to", str(tmp_path / "c.zip"), **on_postgres)["rows"] > made["rows"]


def counts(status: Any) -> Any:
    """A status without times, and without jobs: a restore stops those that waited."""
    if isinstance(status, dict):
        return {key: counts(value) for key, value in status.items() if not isinstance(value, str) and key != "jobs"}
    if isinstance(status, list):
        return [counts(value) for value in status]
    return status
