"""Counters in the database that slow down guessers and busy fingers; the same on every process of the installation.

Keys are hashed, so that the table names nobody. Every change is a compare-and-set on the counter: tries that arrive at
the same moment are all counted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import Throttle

FREE_TRIES = 5
LONGEST_WAIT = 15 * 60
FORGOTTEN_AFTER = timedelta(days=1)


def begin_try(key: Sequence[str], *, free: int = FREE_TRIES) -> int:
    """Count a try before its outcome is known. 0 = go ahead; otherwise the seconds until the next try is looked at.

    `free` tries cost nothing, the next ones 2, 4, 8 … seconds up to 15 minutes. `forget` after a success.
    """
    while True:
        row, now = _row(key), timezone.now()
        if row.blocked_until and row.blocked_until > now:
            return math.ceil((row.blocked_until - now).total_seconds())
        stale = row.updated_at < now - FORGOTTEN_AFTER
        tries = 1 if stale else row.failures + 1
        pause = timedelta(seconds=wait_after(tries, free))
        if _set(row, tries, now + pause if pause else None):
            return 0


def wait_after(tries: int, free: int = FREE_TRIES) -> int:
    """Seconds of pause that follow the failure number `tries`."""
    over = tries - free
    return 0 if over <= 0 else min(2 ** min(over, 20), LONGEST_WAIT)


def current_wait(key: Sequence[str]) -> int:
    """Seconds until the next try is looked at, without counting one."""
    row = Throttle.objects.filter(key=_hash(key)).first()
    if row is None or row.blocked_until is None:
        return 0
    return max(0, math.ceil((row.blocked_until - timezone.now()).total_seconds()))


def forget(key: Sequence[str]) -> None:
    """The try was right: the counter starts again."""
    Throttle.objects.filter(key=_hash(key)).delete()


def allow(key: Sequence[str], *, times: int, seconds: int) -> bool:
    """At most `times` actions in each `seconds`, e.g. `allow(("test", str(user.pk)), times=10, seconds=60)`."""
    while True:
        row, now = _row(key), timezone.now()
        if row.blocked_until is None or row.blocked_until <= now:
            count, until = 1, now + timedelta(seconds=seconds)
        elif row.failures >= times:
            return False
        else:
            count, until = row.failures + 1, row.blocked_until
        if _set(row, count, until):
            return True


def _row(key: Sequence[str]) -> Throttle:
    return Throttle.objects.get_or_create(key=_hash(key))[0]


def _set(row: Throttle, failures: int, until: datetime | None) -> bool:
    unchanged = Throttle.objects.filter(key=row.key, failures=row.failures, blocked_until=row.blocked_until)
    return bool(unchanged.update(failures=failures, blocked_until=until, updated_at=timezone.now()))


def _hash(key: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()
