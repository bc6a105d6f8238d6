"""What must be true before the first page: tables up to date, static files collected. Each step may run again."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from charmem_site.serve import tables

STAMP = "sources.sha256"
logger = logging.getLogger(__name__)


def everything() -> None:
    """Bring tables and static files up to date, on Linux side by side; ends the process when the tables cannot be."""
    helper = _fork(tables.bring_up_to_date)
    collect_static()
    if helper is None:
        tables.bring_up_to_date()
    elif os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]):
        sys.exit(1)


def _fork(step: Callable[[], None]) -> int | None:
    """Run `step` in a copy of this process, which keeps what it loads out of ours; None where that is not possible."""
    if sys.platform != "linux":
        return None
    helper = os.fork()
    if helper:
        return helper
    code = 1
    try:
        step()
        code = 0
    except Exception:
        logger.exception("The tables could not be brought up to date.")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _sources() -> str:
    """A hash over path, size and time of every static source file."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            facts = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def collect_static() -> None:
    """Copy the static files into the data folder when a source has changed since last time."""
    stamp = Path(settings.STATIC_ROOT) / STAMP
    sources = _sources()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == sources:
        return
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    stamp.write_text(sources, encoding="utf-8")
