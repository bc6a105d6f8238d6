"""The pages: granian over WSGI. This process loads Django and forks the one that answers, which shares its memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Any

from charmem_site.serve import lifeline
from charmem_site.serve.messages import READY, tell

BLOCKING_THREADS = 4


def serve(host: str, port: int) -> None:
    """Answer until SIGTERM or Ctrl-C."""
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    fork = sys.platform == "linux"
    if fork:
        multiprocessing.set_start_method("fork")
        _load()
        gc.freeze()  # what is loaded now stays shared: no collection ever touches it
    parent_ends = os.pipe() if fork else None
    server = Server(
        "charmem_site.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=BLOCKING_THREADS,
        websockets=False,
        log_access=False,
        log_level=LogLevels.warning,
        workers_kill_timeout=5,
    )
    server.serve(target_loader=_loader(parent_ends), wrap_loader=False)


def _load() -> Any:
    """Import everything a page needs, and let go of the database before a fork."""
    from django.db import connections
    from django.urls import get_resolver

    from charmem_site.wsgi import application

    _ = get_resolver().url_patterns
    connections.close_all()
    return application


def _loader(pipe: tuple[int, int] | None) -> Callable[[], Any]:
    """What the answering process runs first: tie itself to its parent, say that pages are there."""

    def load() -> Any:
        if pipe:
            os.close(pipe[1])
            lifeline.watch(pipe[0], lifeline.leave)
        application = _load()
        tell(READY)
        return application

    return load
