"""At most so many calls in flight per connection, over all processes (stack-notes §9.11).

A call draws a ticket. Tickets without a number wait in line; the first in line take the free numbers (a unique
constraint settles races). A ticket must be renewed every few seconds, so whatever died by kill -9 frees its place.

The callers of one process stand in a line of their own, and only the first of them stands in the common one. A place
that is given back goes straight to the next of them, without a word to the database, but only for a few seconds:
then it goes back to the common line, so that no process keeps the places from the others.

A server that says that it is asked too often gets half as many calls at once, whoever makes them, and one more every
quarter of a minute until all places are in use again.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.utils import timezone

from accounts.ownership import unscoped
from providers.models import Connection
from providers.transport import TransportError

LIFETIME = timedelta(seconds=20)
RENEWAL_SECONDS = 5.0
POLL_SECONDS = 0.1
KEEP_SECONDS = 5.0
BURST = timedelta(seconds=2)  # refusals so close together are one: the calls were sent at the same time
RAISE_SECONDS = 15.0

Tick = Callable[[], bool]


class _Ticket:
    """A row in the common line; with a number it is a place, at once when one is free and nobody waits for it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.pk, self.has_number = _draw(connection)
        self.drawn_at = self.renewed_at = time.monotonic()

    def may_be_passed_on(self, eased_at: float) -> bool:
        """Not for ever, and not when there may be fewer places now than when it was drawn."""
        return time.monotonic() - self.drawn_at < KEEP_SECONDS and self.drawn_at > eased_at

    def renew(self) -> None:
        """Keep it alive, when that is due."""
        if time.monotonic() - self.renewed_at > RENEWAL_SECONDS:
            self.renewed_at = time.monotonic()
            self.connection.slots.filter(pk=self.pk).update(expires_at=timezone.now() + LIFETIME)

    def discard(self) -> None:
        rows = self.connection.slots.filter(pk=self.pk)
        rows._raw_delete(rows.db)  # nothing hangs on a ticket, so one statement is enough


@dataclass(eq=False)
class _Caller:
    """One thread that wants a place."""

    place: _Ticket | None = None
    woken: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class _Line:
    """The callers of one connection in this process, and the ticket with which their first one waits."""

    callers: deque[_Caller] = field(default_factory=deque)
    ticket: _Ticket | None = None
    eased_at: float = 0.0


_lock = threading.Lock()  # for all lines; never held while the database is asked
_lines: defaultdict[uuid.UUID, _Line] = defaultdict(_Line)


@contextmanager
def slot(connection: Connection, stop: Tick | None = None) -> Iterator[Tick]:
    """Wait for a free place, as the row tells it (look_again), and hold it. Yields a question to ask a few times a
    second while working: it renews the ticket and says whether to stop. Raises TransportError("stopped") when stopped
    in line."""
    place = _wait(connection, stop)

    def tick() -> bool:
        place.renew()
        return stop is not None and stop()

    try:
        yield tick
    finally:
        _give_back(_lines[connection.pk], place)


def in_flight(connection: Connection) -> int:
    """Calls running at this moment."""
    return connection.slots.filter(number__isnull=False, expires_at__gt=timezone.now()).count()


def ease(connection: Connection) -> None:
    """The server is asked too often: half as many calls at once as there are now."""
    now = timezone.now()
    with _lock:
        _lines[connection.pk].eased_at = time.monotonic()
    with unscoped("easing a connection that the caller holds"):
        rows = Connection.objects.filter(Q(lowered_at=None) | Q(lowered_at__lt=now - BURST), pk=connection.pk)
        rows.update(lowered_to=max(1, in_flight(connection) // 2), lowered_at=now)


def allowed(connection: Connection) -> int:
    """Calls that may be in flight at this moment, as far as this row knows."""
    return _allowed(connection.max_parallel, connection.lowered_to, connection.lowered_at)


def _allowed(most: int, lowered_to: int | None, lowered_at: datetime | None) -> int:
    if lowered_to is None or lowered_at is None:
        return max(1, most)
    raised = int((timezone.now() - lowered_at).total_seconds() / RAISE_SECONDS)
    return max(1, min(most, lowered_to + raised))


def _wait(connection: Connection, stop: Tick | None) -> _Ticket:
    caller = _Caller()
    with _lock:
        line = _lines[connection.pk]
        line.callers.append(caller)
    try:
        while caller.place is None and not _ask_as_first(line, caller, connection):
            if stop is not None and stop():
                raise TransportError("stopped", "Stopped.")
            caller.woken.wait(POLL_SECONDS)
            caller.woken.clear()
    except BaseException:
        _leave(line, caller)
        raise
    assert caller.place is not None  # noqa: S101  for the type checker
    return caller.place


def _ask_as_first(line: _Line, caller: _Caller, connection: Connection) -> bool:
    """Ask for a number in the common line, if this caller is the first here; True when it has a place afterwards."""
    with _lock:
        if not line.callers or line.callers[0] is not caller:
            return caller.place is not None
        ticket, line.ticket = line.ticket, None
    ticket = ticket or _Ticket(connection)
    try:
        ticket.renew()
        has_number = _take_number(ticket)
    except BaseException:
        line.ticket = ticket
        raise
    spare = None
    with _lock:
        is_served = caller.place is not None  # somebody passed a place on meanwhile
        if has_number and not is_served:
            line.callers.remove(caller)
            caller.place = ticket
        elif not has_number:
            spare, line.ticket = line.ticket, ticket
    if has_number and is_served:
        _give_back(line, ticket)
    _discard_unused(line, spare)
    if has_number:
        _wake(line)  # there may be another free number for the next one
    return is_served or has_number


def _give_back(line: _Line, place: _Ticket) -> None:
    """Pass a place on to the next caller of this process, or give it back to everybody."""
    with _lock:
        heir = line.callers.popleft() if line.callers and place.may_be_passed_on(line.eased_at) else None
        if heir is not None:
            heir.place = place
    if heir is None:
        place.discard()
    _discard_unused(line)
    _wake(line, heir)


def _wake(line: _Line, caller: _Caller | None = None) -> None:
    """Have this caller, or the first one in line, look at once."""
    with _lock:
        woken = caller or next(iter(line.callers), None)
    if woken is not None:
        woken.woken.set()


def _leave(line: _Line, caller: _Caller) -> None:
    """A caller goes away without having called."""
    with _lock:
        if caller in line.callers:
            line.callers.remove(caller)
    if caller.place is not None:
        _give_back(line, caller.place)
    _discard_unused(line)


def _discard_unused(line: _Line, spare: _Ticket | None = None) -> None:
    """Where nobody waits any more, no ticket stays in the common line; neither does a second one."""
    unused = [spare]
    with _lock:
        if not line.callers:
            unused.append(line.ticket)
            line.ticket = None
    for ticket in unused:
        if ticket is not None:
            ticket.discard()


def _draw(connection: Connection) -> tuple[int, bool]:
    """A new row, and whether it has a number."""
    slots, number = connection.slots, _number_for(connection)
    try:
        with _guarded():
            row = slots.create(number=number, expires_at=timezone.now() + LIFETIME)
        return row.pk, number is not None
    except IntegrityError:  # somebody took it meanwhile
        return slots.create(expires_at=timezone.now() + LIFETIME).pk, False


def _guarded() -> AbstractContextManager[None]:
    """So that a number which somebody else took breaks nothing but the one statement: outside of a transaction, where
    calls are made, this costs nothing."""
    return transaction.atomic() if transaction.get_connection().in_atomic_block else nullcontext()


def _take_number(ticket: _Ticket) -> bool:
    if ticket.has_number:
        return True
    look_again(ticket.connection)
    number = _number_for(ticket.connection, ticket.pk)
    if number is not None:
        try:
            with _guarded():
                ticket.has_number = bool(ticket.connection.slots.filter(pk=ticket.pk).update(number=number))
        except IntegrityError:
            return False
    return ticket.has_number


def _number_for(connection: Connection, ticket: int | None = None) -> int | None:
    """The free number that is due to a ticket in the line, or to one that is about to be drawn; None: it waits."""
    slots, now = connection.slots, timezone.now()
    is_over = ExpressionWrapper(Q(expires_at__lt=now), BooleanField())
    rows = list(slots.annotate(is_over=is_over).values_list("pk", "number", "is_over"))
    expired = [pk for pk, _number, is_over in rows if is_over and pk != ticket]
    if expired:
        slots.filter(pk__in=expired, expires_at__lt=now).delete()
    alive = [(pk, number) for pk, number, is_over in rows if not is_over or pk == ticket]
    taken = {number for _pk, number in alive if number is not None}
    waiting = [pk for pk, number in alive if number is None]
    ahead = sum(1 for pk in waiting if ticket is None or pk < ticket)
    most = allowed(connection)
    free = [number for number in range(most) if number not in taken][: max(0, most - len(taken))]
    return free[ahead] if ahead < len(free) else None


def look_again(connection: Connection) -> datetime | None:
    """Bring what other processes may have changed into the caller's row: how many calls may be in flight, and until
    when none (returned)."""
    with unscoped("the limits of a connection that the caller holds"):
        rows = Connection.objects.filter(pk=connection.pk)
        found = next(iter(rows.values_list("max_parallel", "lowered_to", "lowered_at", "paused_until")), None)
    if found is None:
        return None
    connection.max_parallel, connection.lowered_to, connection.lowered_at, connection.paused_until = found
    return found[3]
