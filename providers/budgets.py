"""Budgets: what a person or the whole instance may spend in a day and a month, asked before every call.

A call is opened in one transaction that holds the budgets' rows: what the call may take at most is added to what is
spent and to what calls under way may take, and when that passes a limit nothing is sent. So callers in any number of
threads and processes never pass a limit together. A day is the person's own day; the instance's is the server's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from jobs.waking import wake_paused
from providers import budget_words, ledger
from providers.base import ProviderError, Request
from providers.budget_sums import INSTANCE, Need, Standing, has_rules, scope_of, standings, zone_of
from providers.models import Budget, Call, Connection
from providers.prices import price_of
from providers.tokens import estimate_tokens

CAUSE = "budget"  # ProviderError.error_type, and why a job is paused
SPARE_SHARE, SPARE_TOKENS = 1.1, 16  # prompts are counted without a tokenizer: rather a little too much


def need_of(connection: Connection, request: Request) -> Need:
    """The most that this request may take: its prompt, counted generously, and the longest answer it allows."""
    prompt = estimate_tokens((connection.system_prompt or request.system) + request.user, connection.bytes_per_token)
    sent = math.ceil(prompt * SPARE_SHARE) + SPARE_TOKENS
    return Need(price_of(connection).cost(sent, request.max_tokens), sent + request.max_tokens)


def check(connection: Connection, request: Request) -> Need:
    """Raise what `open_call` would raise, without opening anything; else what the call may take."""
    need = need_of(connection, request)
    _judge(connection, need, budgets_of(connection.owner_id))
    return need


def open_call(connection: Connection, request: Request) -> Call:
    """Open the call's row with what it may take.

    Raises ProviderError("budget") when that could pass a limit, with the seconds until its period ends, and
    ProviderError("price") where models without a known price are not called.
    """
    need = need_of(connection, request)
    rules = [row for row in budgets_of(connection.owner_id) if has_rules(row)]
    if not rules:
        return ledger.begin(connection, request, money=need.money, tokens=need.tokens)
    with transaction.atomic():
        for row in rules:
            Budget.objects.filter(pk=row.pk).update(warn_percent=F("warn_percent"))  # holds it until this is decided
        _judge(connection, need, budgets_of(connection.owner_id))
        return ledger.begin(connection, request, money=need.money, tokens=need.tokens)


def budgets_of(owner_id: Any) -> list[Budget]:
    """The rows that hold for this person, the instance's first."""
    scopes = (INSTANCE, scope_of(owner_id))
    return sorted(Budget.objects.filter(scope__in=scopes), key=lambda row: scopes.index(row.scope))


def standings_of(user: User, now: datetime | None = None) -> list[Standing]:
    """The person's own limits, then those of everybody here."""
    rows = reversed(budgets_of(user.pk))
    return [one for row in rows for one in standings(row, zone_of(row, user), now)]


def warnings_of(user: User) -> list[Standing]:
    """The limits that are nearly used up, or used up; the fullest first."""
    near = [one for one in standings_of(user) if one.is_near]
    return sorted(near, key=lambda one: -one.share)


def set_budget(person: User | None, **values: Any) -> Budget:
    """Set limits (None = no limit) of a person, or without one of the instance; what waits for them looks again."""
    scope = INSTANCE if person is None else scope_of(person.pk)
    budget, _new = Budget.objects.update_or_create(scope=scope, defaults={"person": person, **values})
    wake_paused(CAUSE, person)
    return budget


def _judge(connection: Connection, need: Need, rows: Iterable[Budget]) -> None:
    now = timezone.now()
    passed: list[Standing] = []
    for row in rows:
        if row.refuses_unpriced and need.money is None:
            raise budget_words.unpriced(connection, is_instance=row.scope == INSTANCE)
        passed += [
            one for one in standings(row, zone_of(row, connection.owner), now) if one.is_passed_by(need)
        ]  # fmt: skip
    if passed:
        last = max(passed, key=lambda one: one.period.end)
        raise _refusal(last, need, now)


def _refusal(standing: Standing, need: Need, now: datetime) -> ProviderError:
    more = need.tokens if standing.unit == "tokens" else need.money or 0
    return ProviderError(
        budget_words.refusal(standing, more),
        retryable=False,
        hint=budget_words.goes_on(standing),
        retry_after=max(1.0, (standing.period.end - now).total_seconds()),
        error_type=CAUSE,
    )
