"""One question to a model, with everything around it: a free place, retries, the ledger, reasoning taken apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from providers import adapters, budgets, fallback, learning, ledger, limits, retry
from providers.base import Completion, Note, ProviderError, Reply, Request, Stop, Usage
from providers.models import Call, Connection
from providers.quoting import without_echo
from providers.transport import TransportError

SHORTEST_REMEMBERED_PAUSE = 2.0
LONG_IN_LINE = 1.0  # seconds; whoever waited longer for a place looks again before asking

# One try: the connection, the request, whether to stop, and whom to tell of another try at once.
Ask = Callable[[Connection, Request, Stop, Callable[[], None]], Reply]


def complete(
    connection: Connection,
    request: Request,
    *,
    stop: Stop | None = None,
    note: Note | None = None,
    tries: int = retry.MOST_TRIES,
    ask: Ask = learning.ask,
) -> Completion:
    """Ask the model behind `connection`.

    Waits for a place (limits.py), tries again where that helps (retry.py), writes one ledger row. `stop()` is asked
    several times a second and closes the connection; `note(text)` hears about waits. Raises ProviderError, whose
    `retry_after` is set when the other side wants a pause longer than we wait here, or when a budget is used up until
    its period ends (budgets.py). Holds no transaction.
    """
    _wait_for_pause(connection, stop or _never)
    came = time.monotonic()
    try:
        with limits.slot(connection, stop) as tick:
            if time.monotonic() - came > LONG_IN_LINE:
                _look_again(connection)
            answered = _asked(connection, request, tick, note or _ignore, tries, ask)
    except TransportError as error:
        raise adapters.provider_error(error) from error
    # The place is somebody else's by now: whatever is written here keeps nobody from asking.
    ledger.succeed(answered.call, connection, request, answered.reply, seconds=answered.seconds, tries=answered.tries)
    return _completion(answered)


@dataclass(frozen=True)
class _Answered:
    call: Call
    reply: Reply
    seconds: float
    tries: int


def _asked(connection: Connection, request: Request, tick: Stop, note: Note, most: int, ask: Ask) -> _Answered:
    call = budgets.open_call(connection, request)
    started = time.monotonic()
    tries = other_forms = 0
    spent: list[Usage] = []

    def again() -> None:
        nonlocal other_forms
        other_forms += 1

    def attempt(earlier: int) -> Reply:
        nonlocal tries
        tries = earlier
        try:
            return ask(connection, request, tick, again)
        except ProviderError as error:
            asked = request.system, request.user, connection.system_prompt
            error.message, error.said = without_echo(error.message, *asked), without_echo(error.said, *asked)
            error.args = (error.message,)
            spent.append(error.usage)
            _remember_pause(connection, error)
            if error.error_type == "rate":
                limits.ease(connection)
            raise

    def may_go_on(error: ProviderError) -> bool:
        """Silence lasts minutes: nobody bears it twice while somebody else can be asked."""
        return error.error_type != "timeout" or not fallback.has_others(connection, request)

    try:
        reply = retry.with_retries(attempt, stop=tick, note=note, most=most, may=may_go_on)
    except ProviderError as error:
        error.usage = ledger.add(spent)
        ledger.fail(call, connection, error, seconds=time.monotonic() - started, tries=tries + other_forms)
        raise
    return _Answered(call, reply, time.monotonic() - started, tries + other_forms)


def _completion(answered: _Answered) -> Completion:
    reply, call = answered.reply, answered.call
    return Completion(
        text=reply.text,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        prompt_tokens=call.prompt_tokens or 0,
        completion_tokens=call.completion_tokens or 0,
        model=call.model,
        seconds=answered.seconds,
        call=call,
    )


def _wait_for_pause(connection: Connection, stop: Stop) -> None:
    """While the other side wants quiet, nobody else's call disturbs it either: short pauses are waited for."""
    until = limits.look_again(connection)
    left = (until - timezone.now()).total_seconds() if until else 0.0
    if 0 < left <= retry.PATIENCE:
        retry.wait(left, stop)
    elif left > 0:
        raise ProviderError(
            _("%(name)s asked for a pause; %(seconds)d seconds are left.") % {"name": connection.name, "seconds": left},
            retryable=True,
            status=429,
            hint=_("CharMem goes on by itself when it is over."),
            retry_after=left,
            error_type="rate",
        )


def _look_again(connection: Connection) -> None:
    """Those that waited in line behind a call that failed do not find out one by one (fallback.py)."""
    with unscoped("reading how a connection is that the caller holds"):
        rows = Connection.objects.filter(pk=connection.pk, down_until__gt=timezone.now())
        now = rows.exclude(down_until=connection.down_until).values_list("down_reason", flat=True).first()
    if now is not None:
        text = _("%(name)s failed while this question waited for its turn: %(why)s")
        raise ProviderError(text % {"name": connection.name, "why": now}, retryable=True, error_type="down")


def _remember_pause(connection: Connection, error: ProviderError) -> None:
    if error.retry_after is not None and error.retry_after >= SHORTEST_REMEMBERED_PAUSE:
        until = timezone.now() + timedelta(seconds=error.retry_after)
        with unscoped("noting the pause of a connection that the caller holds"):
            Connection.objects.filter(pk=connection.pk).update(paused_until=until)


def _ignore(text: str) -> None:
    """Nobody listens to notes."""


def _never() -> bool:
    return False
