"""How a consolidation is done: strategy and model, as a form chooses them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _

from accounts.models import User
from memories import own_prompts
from memories.memory_list import is_uuid
from memories.prompt_words import SHORT, WHAT_FOR
from memories.prompts import BALANCED, STRATEGIES
from providers.models import Connection
from providers.purposes import CONSOLIDATION
from providers.queries import connection_for, connections


@dataclass(frozen=True)
class Way:
    """One strategy to choose."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Setup:
    """The strategy and model chosen, and what else there is."""

    strategy: str
    connection: Connection | None
    ways: list[Way]
    connections: list[Connection]


def ways(user: User) -> list[Way]:
    """The three strategies that come with CharMem, and the person's own."""
    shipped = [Way(name, str(SHORT[name]), str(WHAT_FOR[name])) for name in STRATEGIES]
    return shipped + [Way(one.name, one.title, _("Your own strategy.")) for one in own_prompts.strategies(user)]


def read_setup(user: User, query: QueryDict) -> Setup:
    """What the form says; the balanced strategy and the default connection when it says nothing that exists."""
    known = ways(user)
    wanted = query.get("strategy", "")
    strategy = wanted if any(way.name == wanted for way in known) else BALANCED
    usable = list(connections(user))
    pk = query.get("connection", "")
    connection = next((one for one in usable if is_uuid(pk) and str(one.pk) == pk), None)
    return Setup(strategy, connection or connection_for(user, CONSOLIDATION), known, usable)


def strategy_title(user: User, name: str) -> str:
    """A strategy in words; one that was deleted meanwhile keeps its name."""
    return next((way.title for way in ways(user) if way.name == name), name)
