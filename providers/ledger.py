"""The ledger: one row per model call, written when it starts and completed when it ends. Never any text."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from accounts.ownership import unscoped
from providers.base import ProviderError, Reply, Request, Usage
from providers.models import Call, Connection
from providers.prices import cost_of
from providers.tokens import calibrated, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

UNFINISHED = "unfinished"
COMPLETED = (
    *("model", "seconds", "prompt_tokens", "completion_tokens", "cached_tokens", "is_estimate", "cost"),
    *("finish_reason", "status", "error_type", "retries"),
)
NOTICEABLE = 0.01  # a smaller change of bytes per token is not worth a write


def begin(connection: Connection, request: Request, *, money: Decimal | None = None, tokens: int | None = None) -> Call:
    """Open a row; until `succeed` or `fail` it counts as unfinished (a process that died leaves it so), and with the
    `money` and `tokens` that the call may take at most."""
    return Call.objects.create(
        owner_id=connection.owner_id,
        connection=connection,
        connection_name=connection.name,
        job=request.job,
        purpose=request.purpose,
        subject=request.subject[:200],
        model=connection.model,
        is_automatic=request.is_automatic,
        reserved=money,
        reserved_tokens=tokens,
        error_type=UNFINISHED,
    )


def succeed(call: Call, connection: Connection, request: Request, reply: Reply, *, seconds: float, tries: int) -> None:
    """Complete the row of an answered call and let its usage calibrate the connection's token estimate."""
    usage = reply.usage
    ratio = connection.bytes_per_token
    call.is_estimate = usage.prompt_tokens is None or usage.completion_tokens is None
    call.prompt_tokens = _or(usage.prompt_tokens, estimate_tokens(request.system + request.user, ratio))
    call.completion_tokens = _or(usage.completion_tokens, estimate_tokens(reply.text + reply.reasoning, ratio))
    call.cached_tokens = usage.cached_tokens
    call.model = (reply.model or connection.model)[:200]
    call.finish_reason = reply.finish_reason[:40]
    call.status = 200
    call.error_type = ""
    _finish(call, connection, seconds, tries)
    if usage.prompt_tokens and request.max_tokens:  # a model that writes nothing has a tokenizer of its own
        _calibrate(connection, request, usage.prompt_tokens)


def fail(call: Call, connection: Connection, error: ProviderError, *, seconds: float, tries: int) -> None:
    """Complete the row of a failed call; tokens of an unusable answer were still paid for."""
    call.prompt_tokens = error.usage.prompt_tokens
    call.completion_tokens = error.usage.completion_tokens
    call.status = error.status
    call.error_type = error.error_type or "error"
    _finish(call, connection, seconds, tries)


def add(usages: Iterable[Usage]) -> Usage:
    """The sum of several usages; a count stays None when nobody reported it."""
    rows = list(usages)
    return Usage(_sum(u.prompt_tokens for u in rows), _sum(u.completion_tokens for u in rows))


def _finish(call: Call, connection: Connection, seconds: float, tries: int) -> None:
    call.seconds = round(seconds, 3)
    call.retries = tries
    usage = Usage(call.prompt_tokens, call.completion_tokens, call.cached_tokens)
    call.cost = cost_of(connection, usage, call.model)
    with unscoped("the ledger completes a row that it opened"):
        call.save(update_fields=COMPLETED)


def _calibrate(connection: Connection, request: Request, tokens: int) -> None:
    sent = len((request.system + request.user).encode("utf-8", "surrogatepass"))
    ratio = calibrated(connection.bytes_per_token, sent, tokens)
    if abs(ratio - connection.bytes_per_token) > NOTICEABLE * connection.bytes_per_token:
        connection.bytes_per_token = ratio
        with unscoped("calibrating a connection that the caller holds"):
            Connection.objects.filter(pk=connection.pk).update(bytes_per_token=ratio)


def _or(value: int | None, fallback: int) -> int:
    return fallback if value is None else value


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
