"""One flag of this process: the worker is about to stop, so chunks end early and give their lease back."""

from __future__ import annotations

import threading

_stopping = threading.Event()


def request_stop() -> None:
    """Ask every running chunk of this process to stop at its next question. Safe inside a signal handler."""
    _stopping.set()


def is_stopping() -> bool:
    """Whether this process is about to end."""
    return _stopping.is_set()


def forget_stop() -> None:
    """Take the request back (a process that goes on living, as in tests)."""
    _stopping.clear()
