"""At most so many calls in flight per connection, over all processes (stack-notes §9.11).

A call draws a ticket. Tickets without a number wait in line; the first in line take the free numbers (a unique
constraint settles races). A ticket must be renewed every few seconds, so whatever died by kill -9 frees its place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from providers.models import CallSlot, Connection
from providers.transport import TransportError

LIFETIME = timedelta(seconds=20)
RENEWAL_SECONDS = 5.0
POLL_SECONDS = 0.1
_released = threading.Condition()

Tick = Callable[[], bool]


@contextmanager
def slot(connection: Connection, stop: Tick | None = None) -> Iterator[Tick]:
    """Wait for a free place and hold it. Yields a question to ask a few times a second while working: it renews the
    ticket and says whether to stop. Raises TransportError("stopped") when stopped in line."""
    ticket = connection.slots.create(expires_at=timezone.now() + LIFETIME)
    tick = _ticker(ticket, stop)
    try:
        _wait_for_number(connection, ticket, tick)
        yield tick
    finally:
        connection.slots.filter(pk=ticket.pk).delete()
        with _released:
            _released.notify_all()


def in_flight(connection: Connection) -> int:
    """Calls running at this moment."""
    return connection.slots.filter(number__isnull=False, expires_at__gt=timezone.now()).count()


def _ticker(ticket: CallSlot, stop: Tick | None) -> Tick:
    renewed_at = time.monotonic()

    def tick() -> bool:
        nonlocal renewed_at
        if time.monotonic() - renewed_at > RENEWAL_SECONDS:
            renewed_at = time.monotonic()
            ticket.connection.slots.filter(pk=ticket.pk).update(expires_at=timezone.now() + LIFETIME)
        return stop is not None and stop()

    return tick


def _wait_for_number(connection: Connection, ticket: CallSlot, tick: Tick) -> None:
    while not _take_number(connection, ticket):
        if tick():
            raise TransportError("stopped", "Stopped.")
        with _released:
            _released.wait(POLL_SECONDS)


def _take_number(connection: Connection, ticket: CallSlot) -> bool:
    now = timezone.now()
    rows = list(connection.slots.values_list("pk", "number", "expires_at"))
    expired = [pk for pk, _number, expires_at in rows if expires_at < now and pk != ticket.pk]
    if expired:
        connection.slots.filter(pk__in=expired, expires_at__lt=now).delete()
    taken = {number for pk, number, _at in rows if number is not None and pk not in expired}
    ahead = sum(1 for pk, number, _at in rows if number is None and pk < ticket.pk and pk not in expired)
    free = [number for number in range(max(1, connection.max_parallel)) if number not in taken]
    if ahead >= len(free):
        return False
    try:
        with transaction.atomic():
            return bool(connection.slots.filter(pk=ticket.pk).update(number=free[ahead]))
    except IntegrityError:
        return False
