"""Rows of every table as JSON lines, and back, without loading a table into memory.

The rows of a backup are read inside one snapshot, so that a backup made while people work is consistent.
"""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.apps import apps
from django.core import serializers
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Model

from search import index as search_index

APPS = ("accounts", "jobs", "providers", "sync", "memories", "compaction", "companion")
# The search index is left out: it is made anew after a restore. Sessions and counters of tries belong to the running
# installation, not to what people want back.
LEFT_OUT = {"accounts.SignIn", "accounts.Throttle"}
BATCH = 500


class RowError(ValueError):
    """A line of a table in a backup cannot be read; the message names table and line."""


def tables() -> list[type[Model]]:
    """Every model whose rows belong into a backup, in a stable order."""
    found = [model for label in APPS for model in apps.get_app_config(label).get_models()]
    return [model for model in found if model._meta.label not in LEFT_OUT]


@contextmanager
def snapshot() -> Iterator[None]:
    """One consistent view of the database for as long as the block runs, without holding writers up."""
    if connection.vendor != "sqlite":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    # atomic() would take SQLite's write lock (IMMEDIATE); a deferred transaction in WAL mode only reads.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def rows(model: type[Model]) -> Iterator[bytes]:
    """The rows of one table, each as a line of JSON."""
    serializer = serializers.get_serializer("python")()
    for row in model._base_manager.order_by("pk").iterator(chunk_size=BATCH):
        record = serializer.serialize([row])[0]
        yield json.dumps(record, default=_plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> str:
    """Text of a value that JSON does not know; times keep their microseconds."""
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a backup")


def empty_all() -> None:
    """Remove every row that a backup replaces, and the search index, which is made anew from them."""
    search_index.empty()
    for model in reversed(tables()):
        model._base_manager.all()._raw_delete(using="default")


def load(model: type[Model], lines: Iterable[bytes]) -> int:
    """Insert the rows of one table as they were, creation and change times included. Returns their number."""
    fields = list(model._meta.concrete_fields)
    objects = _objects(model, lines)
    count = 0
    while batch := list(islice(objects, BATCH)):
        size = max(connection.ops.bulk_batch_size(fields, batch), 1)
        for start in range(0, len(batch), size):
            # raw keeps auto_now fields as they are; bulk_create would stamp them anew.
            rows: Any = model._base_manager.all()
            rows._insert(batch[start : start + size], fields=fields, using="default", raw=True)
        count += len(batch)
    return count


def _objects(model: type[Model], lines: Iterable[bytes]) -> Iterator[Model]:
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            if record["model"] != model._meta.label_lower:
                raise ValueError(f"a row of {record['model']}")
            yield next(iter(serializers.deserialize("python", [record]))).object
        except (ValueError, KeyError, TypeError, serializers.base.DeserializationError) as error:
            raise RowError(f"{model._meta.label}, line {number}: {error}") from error


def reset_counters() -> None:
    """Have automatic numbers go on after the highest restored one (PostgreSQL)."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables()):
            cursor.execute(statement)
