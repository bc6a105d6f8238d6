"""Pages of the providers app."""

from providers.views import budgets, builtin
from providers.views.choosing import choose
from providers.views.connections import (
    connection_list,
    default,
    delete,
    edit,
    forget_key,
    found,
    models,
    new,
    new_of,
    test,
    tested,
)
from providers.views.duties import duties
from providers.views.embeddings import embeddings
from providers.views.networks import network_remove, networks
from providers.views.spending import calls, calls_csv, spending

__all__ = [
    "budgets",
    "builtin",
    "calls",
    "calls_csv",
    "choose",
    "connection_list",
    "default",
    "delete",
    "duties",
    "edit",
    "embeddings",
    "forget_key",
    "found",
    "models",
    "network_remove",
    "networks",
    "new",
    "new_of",
    "spending",
    "test",
    "tested",
]
