"""`manage.py worker`: background work, as `serve` and the containers start it."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import warnings
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from charmem_site.serve import lifeline

THREADS = 16
SWITCH_SECONDS = 0.03  # threads that work hand over less often than by default, which cost a sixth of their time
IDLE_SECONDS = 30.0
SCHEDULER = "celery.beat:Scheduler"  # keeps nothing on disk: the rows know what was done


def worker_name() -> str:
    """The name under which leases are held: the same after a restart on this machine."""
    return os.environ.setdefault("CHARMEM_WORKER_NAME", f"worker@{socket.gethostname()}")


class Command(BaseCommand):
    """Run jobs, and by default the clock that starts periodic work."""

    help = "Runs background work (a part of serve)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        clock = parser.add_mutually_exclusive_group()
        clock.add_argument("--no-beat", action="store_true", help="jobs only; another process keeps the clock")
        clock.add_argument("--beat-only", action="store_true", help="the clock only; exactly one process may keep it")
        clock.add_argument(
            "--until-idle",
            nargs="?",
            type=float,
            const=IDLE_SECONDS,
            metavar="SECONDS",
            help=f"jobs only, beside another worker, until none was due for so long ({IDLE_SECONDS:g})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        warnings.filterwarnings("ignore", message=".*superuser privileges.*")
        lifeline.hold()
        sys.setswitchinterval(SWITCH_SECONDS)
        if options["beat_only"]:
            keep_the_clock()
        elif options["until_idle"] is not None:
            help_out(options["until_idle"])
        else:
            run_jobs(beat=not options["no_beat"])


def run_jobs(*, beat: bool) -> None:
    """Take jobs until SIGTERM. Leases that a dead worker of the same name left behind are given back first."""
    from celery.beat import EmbeddedService
    from celery.signals import worker_ready

    from charmem_site.celery import app
    from charmem_site.serve import load
    from charmem_site.serve.messages import BUSY, tell
    from charmem_site.serve.options import most_workers
    from jobs.lease import release_worker
    from jobs.tasks import slots

    def ask_for_help() -> None:
        if tell(BUSY) and most_workers() > 1:
            slots.share()

    name = worker_name()
    release_worker(name)
    clock = EmbeddedService(app, thread=True, scheduler_cls=SCHEDULER) if beat else None
    worker = app.Worker(
        hostname=name,
        pool="threads",
        concurrency=THREADS,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    if clock:
        clock.start()
    gc.collect()
    gc.freeze()  # what was imported stays; looking at it again and again cost a tenth of a chunk's processor time
    load.watch(lambda: (slots.taken, slots.is_full), ask_for_help)
    worker_ready.connect(lambda **details: print(f"{name} takes jobs.", flush=True), weak=False)
    worker.start()


def help_out(idle: float) -> None:
    """Take part in the work until SIGTERM, or until there was none for `idle` seconds. Leases that a dead helper of the
    same name left behind are given back first."""
    from jobs.helping import Helper
    from jobs.lease import release_worker
    from jobs.slots import SHARED
    from jobs.stopping import request_stop

    name = worker_name()
    release_worker(name)
    for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGBREAK", signal.SIGTERM)):
        signal.signal(number, lambda number, frame: request_stop())
    gc.collect()
    gc.freeze()
    print(f"{name} helps.", flush=True)
    Helper(SHARED, idle).run()


def keep_the_clock() -> None:
    """Send the ticks of periodic work until SIGTERM."""
    from celery.beat import Service

    from charmem_site.celery import app

    service = Service(app, scheduler_cls=SCHEDULER, max_interval=1)
    signal.signal(signal.SIGTERM, lambda number, frame: service.stop())
    print("The clock runs.", flush=True)
    service.start()
