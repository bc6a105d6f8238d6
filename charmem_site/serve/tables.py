"""Bring the tables up to date. A new installation gets them straight from the models, in a tenth of the time."""

from __future__ import annotations

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from search import engines


def bring_up_to_date() -> None:
    """Create, migrate or leave alone; safe to repeat and to interrupt."""
    executor = MigrationExecutor(connection)
    if not executor.loader.applied_migrations and not connection.introspection.table_names():
        _create(executor)
    elif executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)


def _create(executor: MigrationExecutor) -> None:
    """All tables as the models describe them, and every migration noted as applied, in one transaction.

    A new database has nothing that a data migration could change. tests/services/test_tables.py proves that both ways
    lead to the same tables.
    """
    with connection.schema_editor(atomic=True) as editor:
        executor.recorder.ensure_schema()
        for model in apps.get_models():
            if model._meta.managed and not model._meta.proxy:
                editor.create_model(model)
        engines.create(connection)
        for app, name in executor.loader.graph.nodes:
            executor.recorder.record_applied(app, name)
