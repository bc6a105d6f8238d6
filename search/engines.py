"""The one place with SQL of a single database engine: the full-text index over `SearchEntry.words` and `.scope`.

SQLite: an FTS5 table with the entries as external content, so that the words are stored once, kept in step by three
triggers (the way its documentation proposes). Its tokeniser only cuts at blanks: our words hold nothing else to cut at.
Contentless tables would save the words themselves, but SQLite before 3.43 cannot delete from them without the old text.

PostgreSQL: a generated `tsvector` column with a GIN index. The vector is put together from our words, not by a text
search configuration, so that no locale has a say.

A later migration that changes the entries' table on SQLite drops the triggers with it and must call `create` again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from search.query import Query, for_fts5, for_postgresql

ENTRIES = "search_searchentry"
ADD = "INSERT INTO search_index(rowid, words, scope) VALUES (new.id, new.words, new.scope);"
TAKE = "INSERT INTO search_index(search_index, rowid, words, scope) VALUES ('delete', old.id, old.words, old.scope);"
ON_SQLITE = (
    "CREATE VIRTUAL TABLE search_index USING fts5("
    f"words, scope, content='{ENTRIES}', content_rowid='id', tokenize='ascii', prefix='2 3', columnsize=0)",
    f"CREATE TRIGGER search_entry_added AFTER INSERT ON {ENTRIES} BEGIN {ADD} END",
    f"CREATE TRIGGER search_entry_deleted AFTER DELETE ON {ENTRIES} BEGIN {TAKE} END",
    f"CREATE TRIGGER search_entry_changed AFTER UPDATE OF words, scope ON {ENTRIES} BEGIN {TAKE} {ADD} END",
    "INSERT INTO search_index(search_index) VALUES ('rebuild')",
)
OFF_SQLITE = (
    "DROP TRIGGER IF EXISTS search_entry_added",
    "DROP TRIGGER IF EXISTS search_entry_deleted",
    "DROP TRIGGER IF EXISTS search_entry_changed",
    "DROP TABLE IF EXISTS search_index",
)
ON_POSTGRESQL = (
    """CREATE OR REPLACE FUNCTION search_vector(words text, scope text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT coalesce(string_agg('''' || word || ''':' || least(place, 16383), ' '), '')::tsvector
            || array_to_tsvector(array(SELECT '=' || name FROM unnest(string_to_array(scope, ' ')) AS name))
        FROM unnest(string_to_array(words, ' ')) WITH ORDINALITY AS found(word, place) WHERE word <> ''
    $$""",
    f"ALTER TABLE {ENTRIES} ADD COLUMN body tsvector GENERATED ALWAYS AS (search_vector(words, scope)) STORED",
    f"CREATE INDEX search_entry_body ON {ENTRIES} USING gin (body)",
)
OFF_POSTGRESQL = (
    f"ALTER TABLE {ENTRIES} DROP COLUMN IF EXISTS body",
    "DROP FUNCTION IF EXISTS search_vector(text, text)",
)
MERGED_PAGES = 500
FIND_SQLITE = "SELECT rowid FROM search_index WHERE search_index MATCH %s ORDER BY rowid DESC LIMIT %s"
FIND_POSTGRESQL = f"SELECT id FROM {ENTRIES} WHERE body @@ %s::tsquery ORDER BY id DESC LIMIT %s"  # noqa: S608


@cache
def _sqlite_has_fts5() -> bool:
    try:
        with sqlite3.connect(":memory:") as probe:
            probe.execute("CREATE VIRTUAL TABLE probe USING fts5(words)")
    except sqlite3.OperationalError:
        return False
    finally:
        probe.close()
    return True


def has_full_text() -> bool:
    """Whether this database engine can search at all."""
    return connection.vendor != "sqlite" or _sqlite_has_fts5()


def is_there() -> bool:
    """Whether the index exists; on an SQLite without FTS5 it does not."""
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_index'")
        return cursor.fetchone() is not None


def create(database: BaseDatabaseWrapper = connection) -> None:
    """Make the index over the entries that are there; nothing happens where the engine cannot."""
    if database.vendor == "sqlite":
        _do(database, ON_SQLITE if _sqlite_has_fts5() else ())
    else:
        _do(database, ON_POSTGRESQL)


def drop(database: BaseDatabaseWrapper = connection) -> None:
    """Take the index away, not the entries."""
    _do(database, OFF_SQLITE if database.vendor == "sqlite" else OFF_POSTGRESQL)


@contextmanager
def suspended() -> Iterator[None]:
    """Let go of the index while all entries are taken away, and begin it anew: much quicker than row by row."""
    if connection.vendor != "sqlite":
        yield
        return
    drop()
    yield
    create()


def scrub() -> None:
    """Have nothing left of words that were deleted.

    SQLite keeps them in older parts of its index until these are merged; that happens here, in small steps, so that
    others can write in between. PostgreSQL's vacuum does the same by itself.
    """
    if connection.vendor != "sqlite" or not is_there():
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA secure_delete = ON")
        pages = -MERGED_PAGES  # negative: everything becomes one part
        while True:
            changes = connection.connection.total_changes
            cursor.execute("INSERT INTO search_index(search_index, rank) VALUES ('merge', %s)", [pages])
            if connection.connection.total_changes - changes < 2:
                break
            pages = MERGED_PAGES
        cursor.execute(f"PRAGMA secure_delete = {int(before)}")


def newest(query: Query, scope: list[list[str]], limit: int) -> list[int]:
    """Ids of the entries that answer the query, newest entry first, at most `limit`."""
    with connection.cursor() as cursor:
        cursor.execute(*_question(query, scope, limit))
        return [row[0] for row in cursor.fetchall()]


def plan(query: Query, scope: list[list[str]], limit: int) -> str:
    """How the database looks for them, in its own words: proof that its index is used."""
    statement, parameters = _question(query, scope, limit)
    word = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
    with connection.cursor() as cursor:
        cursor.execute(word + statement, parameters)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def _question(query: Query, scope: list[list[str]], limit: int) -> tuple[str, list[Any]]:
    if connection.vendor == "sqlite":
        return FIND_SQLITE, [for_fts5(query, scope), limit]
    return FIND_POSTGRESQL, [for_postgresql(query, scope), limit]


def _do(database: BaseDatabaseWrapper, statements: tuple[str, ...]) -> None:
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
