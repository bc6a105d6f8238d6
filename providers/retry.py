"""Trying again: back-off for passing troubles, and an honest pause for long ones.

A wait of up to PATIENCE seconds happens here, in slices that can be stopped. A longer one is not waited for: the error
leaves with `retry_after`, the job turns it into a pause, and the thread is free for other work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from providers.base import Note, ProviderError, Stop

PATIENCE = 20.0
BACKOFF = (1.0, 3.0, 8.0)
MOST_TRIES = len(BACKOFF) + 1
SLICE = 0.25
T = TypeVar("T")
May = Callable[[ProviderError], bool]


def with_retries(
    attempt: Callable[[int], T], *, stop: Stop, note: Note, most: int = MOST_TRIES, may: May = lambda error: True
) -> T:
    """Call `attempt(number of earlier tries)` until it succeeds, its error is not worth another try, or `may` says of
    it that there shall be none."""
    for tries, backoff in enumerate((*BACKOFF[: most - 1], None)):
        try:
            return attempt(tries)
        except ProviderError as error:
            delay = _delay(error, backoff)
            if delay is None or not may(error):
                raise
            note(f"{error.message} Trying again in {delay:.0f} s.")
            wait(delay, stop)
    raise AssertionError("the last try returns or raises")


def wait(seconds: float, stop: Stop) -> None:
    """Wait in slices; raises ProviderError("stopped") as soon as `stop()` says so."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if stop():
            raise ProviderError("Stopped.", retryable=True, error_type="stopped")
        time.sleep(min(SLICE, left))


def _delay(error: ProviderError, backoff: float | None) -> float | None:
    """Seconds until the next try; None when the error must leave."""
    if not error.retryable or backoff is None or error.error_type == "stopped":
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= PATIENCE else None
    return backoff * random.uniform(0.8, 1.2)  # noqa: S311  spreads load, keeps no secret
