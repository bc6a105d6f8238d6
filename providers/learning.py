"""Asks in the form that a model understands: what its server refuses once is left out from then on, in every process.

Lessons stand on the connection, for each model apart. They are read anew before each call, because the caller's row
may be older than what another process learned meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from accounts.ownership import unscoped
from providers import adapters
from providers.abilities import Abilities, Lesson, abilities_of, lesson_of, takes_grammar
from providers.base import ProviderError, Reply, Request, Stop
from providers.listed_prices import Listed
from providers.models import Connection

# 200: proxies that put the refusal into the body. 500: chat templates of local servers that know no system role.
REFUSALS = (200, 400, 422, 500)
MOST_TRIES = 20
MOST_LEARNED = 20  # models of one list


def ask(connection: Connection, request: Request, stop: Stop, again: Callable[[], None]) -> Reply:
    """One answer. A refused form is asked again at once in the other form, at most once for each ability, and
    `again()` hears of it. What was learned is kept when the other form was accepted. Raises ProviderError."""
    model = adapters.model_behind(connection)
    can, lesson = known_abilities(connection, model), Lesson()
    while True:
        try:
            reply = adapters.ask(connection, request, stop, can)
        except ProviderError as error:
            if not (more := _news(error, request, can, lesson)):
                raise
            lesson |= more
            can = replace(can, **more)
            again()
        else:
            if lesson:
                remember(connection, model, lesson)
            return reply


def known_abilities(connection: Connection, model: str) -> Abilities:
    """What this model understands, as far as any process knows."""
    with unscoped("what was learned about a connection that the caller holds"):
        row = Connection.objects.filter(pk=connection.pk).values_list("learned", flat=True).first()
    return abilities_of(connection.preset, model, (row or {}).get(model))


def remember(connection: Connection, model: str, lesson: Lesson) -> None:
    """Add a lesson to those on the row, as it is now: whoever learns at the same moment loses nothing. Nothing is
    written when the connection leads to another address by now."""
    with unscoped("noting what was learned about a connection that the caller holds"):
        rows = Connection.objects.filter(pk=connection.pk, base_url=connection.base_url)
        for _n in range(MOST_TRIES):
            before: dict[str, Any] | None = rows.values_list("learned", flat=True).first()
            if before is None:
                return
            after = {**before, model: {**before.get(model, {}), **lesson}}
            if rows.filter(learned=before).update(learned=after):
                return


def learn_from_list(connection: Connection, listed: Sequence[Listed]) -> None:
    """A local server says in its list who it is, and so whether it holds a model to a grammar. What a refusal taught
    stays."""
    if connection.preset != "local":
        return
    with unscoped("what was learned about a connection that the caller holds"):
        known = Connection.objects.filter(pk=connection.pk).values_list("learned", flat=True).first() or {}
    for row in listed[:MOST_LEARNED]:
        if takes_grammar(row.server, row.id) and "grammar" not in known.get(row.id, {}):
            remember(connection, row.id, {"grammar": True})


def _news(error: ProviderError, request: Request, can: Abilities, lesson: Lesson) -> Lesson:
    """What this error teaches that was not tried in this call yet. A model whose thinking was already opened for it
    can only think in the form of a grammar, and has nothing left to say."""
    if error.status not in REFUSALS:
        return {}
    found = lesson_of(error.said, can)
    if error.error_type == "reasoning_only" and can.grammar and request.grammar:
        found["grammar"] = False
    return {name: value for name, value in found.items() if name not in lesson}
