"""Waiting for something to become true, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(question: Callable[[], T], seconds: float = 10, every: float = 0.05) -> T:
    """Ask until the answer is true and return it; fail with the last answer when time is up."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"Not true after {seconds} s: {question!r} gave {answer!r}")
        time.sleep(every)
