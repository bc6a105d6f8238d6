"""The only Celery tasks: wake a worker, and do what happens by the clock. Messages carry ids and names only.

Messages are acknowledged at once; the lease covers what a broker would have to redeliver (stack-notes §4.3).
A thread that was woken goes on until nothing is due, so a chunk costs no message; two threads of a worker never run
jobs and stay free for the clock.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from jobs.chunk import run_next
from jobs.clock import run_in_turn
from jobs.reaper import reap
from jobs.slots import SHARED, Slots
from jobs.stopping import is_stopping, request_stop

logger = logging.getLogger(__name__)
slots = Slots(max(1, getattr(settings, "WORKER_THREADS", 16) - 2), SHARED)


@worker_shutting_down.connect
def _stop(**details: Any) -> None:
    request_stop()


@worker_ready.connect
def _reap_first(**details: Any) -> None:
    reap()


@shared_task(name="jobs.run_job", ignore_result=True, acks_late=False)
def run_job(job_id: str) -> None:
    """A wake-up: `job_id` may be due, or something else; run what is due in the order of jobs/choice.py."""
    if not slots.enter():
        return
    _run_all_due()
    while not slots.leave():
        _run_all_due()


@shared_task(name="jobs.run_periodic", ignore_result=True, acks_late=False)
def run_periodic(name: str) -> None:
    """Do one thing that happens by the clock, unless somebody is at it already."""
    close_old_connections()
    try:
        run_in_turn(name)
    finally:
        close_old_connections()


def _run_all_due() -> None:
    close_old_connections()
    try:
        while not is_stopping() and not slots.is_one_too_many and run_next():
            close_old_connections()
    except DatabaseError as error:
        logger.warning("The database is away (%s); the sweep wakes a worker later.", type(error).__name__)
    finally:
        close_old_connections()
