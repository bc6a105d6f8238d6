"""A child's tie to its parent: a pipe as standard input that nobody writes. Its end means the parent is gone."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

VARIABLE = "CHARMEM_LIFELINE"
HARD_EXIT_SECONDS = 8.0


def watch(handle: int, gone: Callable[[], None]) -> None:
    """Call `gone` in a side thread once the other end of the pipe `handle` is closed."""

    def wait() -> None:
        # os.read, not sys.stdin: a buffered reader held by a daemon thread aborts the interpreter at shutdown.
        while os.read(handle, 1):
            pass
        gone()

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


def leave() -> None:
    """Ask this process to stop as on SIGTERM, and end it 8 s later whatever it is doing."""
    stopper = threading.Timer(HARD_EXIT_SECONDS, os._exit, args=(1,))
    stopper.daemon = True
    stopper.start()
    os.kill(os.getpid(), signal.SIGTERM)


def hold() -> None:
    """Tie this process to the supervisor that started it; does nothing when a person started it by hand."""
    if os.environ.get(VARIABLE):
        watch(0, leave)
