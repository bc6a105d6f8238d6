"""The running server takes up what was written, by its own clock."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.support.processes import Running
from tests.support.waiting import wait_until

WRITE = """
from accounts.models import User
from tests.support.builders import make_character, make_memory_file, make_tavern
alice = User.objects.create_person("alice", "correct horse battery", role="admin")
tavern = make_tavern(alice, unlinked_at="2026-01-01T00:00Z")
make_memory_file(make_character(tavern), [("Night", ["Keeps a xylophonium."])])
"""


def found(house: Running, word: str) -> int:
    question = "SELECT count(*) FROM search_index WHERE search_index MATCH ?"
    with closing(sqlite3.connect(house.data_dir / "charmem.sqlite3", timeout=20)) as database:
        count: int = database.execute(question, [word]).fetchone()[0]
        return count


def test_a_new_memory_is_searchable_within_seconds(house: Running) -> None:
    house.start("serve")
    house.wait_for_page(60)
    done = house.command("shell", "--no-imports", "-c", WRITE)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: found(house, "xylophonium"), 40, every=0.5)
    assert found(house, "unicorn") == 0
