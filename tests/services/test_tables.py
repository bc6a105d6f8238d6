"""A new installation's tables come straight from the models: they are those that migrating makes."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.processes import Running

QUICK = "from charmem_site.serve.tables import bring_up_to_date; bring_up_to_date()"


def _facts(data_dir: Path) -> dict[str, Any]:
    """Columns, indexes and conditions of every table, in an order of their own; and the list of migrations."""
    with closing(sqlite3.connect(data_dir / "charmem.sqlite3")) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        facts: dict[str, Any] = {name: _table(database, name) for name in tables if not name.startswith("sqlite_")}
        facts["migrations"] = sorted(database.execute("SELECT app, name FROM django_migrations"))
        return facts


def _table(database: sqlite3.Connection, name: str) -> dict[str, Any]:
    columns = sorted(row[1:] for row in database.execute(f"PRAGMA table_info({name})"))
    keys = sorted(row[2:7] for row in database.execute(f"PRAGMA foreign_key_list({name})"))
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
    (text,) = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", [name]).fetchone()
    return {
        "columns": columns,
        "keys": keys,
        "indexes": sorted(database.execute(query, [name])),
        "constraints": sorted(re.findall(r'CONSTRAINT "(\w+)"', text)),
    }


def test_both_ways_make_the_same_tables(tmp_path: Path) -> None:
    quick, slow = Running(tmp_path / "quick"), Running(tmp_path / "slow")

    assert quick.command("shell", "--no-imports", "-c", QUICK).returncode == 0
    assert slow.command("migrate", "-v0").returncode == 0

    assert _facts(quick.data_dir) == _facts(slow.data_dir)
    assert quick.command("migrate", "--check").returncode == 0


def test_an_older_database_is_migrated_not_made_anew(tmp_path: Path) -> None:
    old = Running(tmp_path / "old")
    assert old.command("migrate", "-v0").returncode == 0
    assert old.command("migrate", "-v0", "sessions", "zero").returncode == 0

    assert old.command("shell", "--no-imports", "-c", QUICK).returncode == 0

    assert "django_session" in _facts(old.data_dir)
    assert old.command("migrate", "--check").returncode == 0
