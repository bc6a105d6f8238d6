"""Stepping in: when a connection is down, the next one of the person's order is asked the same question.

asked ──▶ answered (whatever the answer is worth, it is the caller's)
  └─ down ──▶ the next one that may be asked and whose window holds the question ──▶ … ──▶ the first one's error

Down is what says that a model or its host cannot be had now. What would be the same elsewhere (too long, a budget, a
stop) and what a model said (a refusal, nothing but thoughts) is no reason to ask another one. One that was down is set
aside for a minute: it is asked last, so that the calls behind it do not all wait for its silence. A connection that
was picked by hand, in place of the one that does this usually, is asked alone. Troubles that pass are tried again
before somebody steps in, but silence, which lasts minutes, is borne once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from providers import budgets, queries, retry
from providers.base import Completion, Note, ProviderError, Request
from providers.models import Connection
from providers.purposes import purpose_of

SET_ASIDE = timedelta(seconds=60)
UNREACHABLE = ("address", "connect", "timeout", "protocol", "server", "html", "redirect", "down")
REFUSING = ("key", "payment", "forbidden", "not_found", "rate", "setup")
DOWN = frozenset(UNREACHABLE + REFUSING)
PASSED_OVER = frozenset({"context", "budget", "price"})  # one that steps in takes less, or may cost too much

Ask = Callable[[Connection], Completion]
May = Callable[[Connection], bool]


def complete(
    connection: Connection, request: Request, ask: Ask, *, note: Note, may_ask: May | None = None
) -> Completion:
    """The answer of `connection`, or of one that steps in for it; `ask` asks one of them (complete.py).

    `note` hears who steps in and why; `may_ask` says of each whether it may. Raises the ProviderError of `connection`
    when nobody answered. As long as it answers, this asks the database nothing.
    """
    turn = _Turn(connection, request, ask, may_ask or _anybody)
    if not is_set_aside(connection) and (done := turn.asked(connection)):
        return done
    for one in turn.others():
        if said := turn.why_now(one):
            note(said)
        if done := turn.asked(one):
            return done
        turn.set_aside_last()
    assert turn.error is not None  # noqa: S101  for the type checker: the first one was asked, here or above
    raise turn.error


def is_down(error: ProviderError) -> bool:
    """Whether an error says that the model or its host cannot be had now. An answer that came (200) and was withheld
    for what it says is an answer."""
    return error.error_type in DOWN and not (error.error_type == "forbidden" and error.status == 200)


def is_set_aside(connection: Connection) -> bool:
    """Whether it failed a moment ago, so that others are asked before it."""
    return connection.down_until is not None and connection.down_until > timezone.now()


def has_others(connection: Connection, request: Request) -> bool:
    """Whether somebody behind it in the order could answer this question when it does not. One query."""
    order = queries.order_for(connection.owner, purpose_of(request.purpose))
    behind = order[order.index(connection) + 1 :] if connection in order else []
    return any(_fits(one, connection, request) for one in behind)


def mend(connection: Connection) -> None:
    """It answered: it is asked in its turn again."""
    if connection.down_until is not None:
        _note_down(connection, down_until=None, down_reason="")


@dataclass
class _Turn:
    """One question on its way through the order: the first one's error, and who failed last."""

    first: Connection
    request: Request
    ask: Ask
    may_ask: May
    error: ProviderError | None = None
    last: tuple[Connection, ProviderError] | None = None

    def asked(self, one: Connection) -> Completion | None:
        """Its answer; None when it is down, or takes no such question although it was not the first one's to say."""
        try:
            done = self.ask(one)
        except ProviderError as error:
            if one != self.first and error.error_type in PASSED_OVER:
                return None
            if not is_down(error):
                raise
            self.last = (one, error)
            self.error = error if one == self.first else self.error
            return None
        mend(one)
        return done

    def others(self) -> list[Connection]:
        """Who is asked next, in order: those that are set aside last."""
        spares = [one for one in self._spares() if _fits(one, self.first, self.request) and self.may_ask(one)]
        if spares:
            self.set_aside_last()
        rest = spares if self.error else [self.first, *spares]
        return sorted(rest, key=is_set_aside)

    def _spares(self) -> list[Connection]:
        order = queries.order_for(self.first.owner, purpose_of(self.request.purpose))
        return order[1:] if order[:1] == [self.first] else []

    def set_aside_last(self) -> None:
        """Ask the one that just failed last for a minute, unless it named a pause, which is kept already."""
        if self.last is None:
            return
        one, error = self.last
        if error.error_type != "down" and (error.retry_after or 0) <= retry.PATIENCE:
            _note_down(one, down_until=timezone.now() + SET_ASIDE, down_reason=error.message)

    def why_now(self, one: Connection) -> str:
        """For the log: why this one is asked; "" for the first one when nobody was asked before it."""
        if self.last is None and one == self.first:
            return ""
        name, why = (
            (self.last[0].name, self.last[1].message) if self.last else (self.first.name, self.first.down_reason)
        )
        return _("%(other)s steps in for %(name)s: %(why)s") % {"other": one.name, "name": name, "why": why}


def _fits(one: Connection, first: Connection, request: Request) -> bool:
    """Whether a question that was made for the first one's window fits into this one's."""
    window = one.context_tokens
    if not window or (first.context_tokens and window >= first.context_tokens):
        return True
    return budgets.need_of(one, request).tokens <= window


def _note_down(connection: Connection, **fields: object) -> None:
    for name, value in fields.items():
        setattr(connection, name, value)
    with unscoped("noting how a connection is that the caller holds"):
        Connection.objects.filter(pk=connection.pk).update(**fields)


def _anybody(_connection: Connection) -> bool:
    return True
