"""How a chunk ends: every way out of `running` is one update that needs the lease's token."""

from __future__ import annotations

import logging
import traceback
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import OperationalError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs import batch
from jobs.models import Job
from jobs.registry import kinds
from jobs.run import JobFailed, JobPaused, JobRun, LeaseLost, Outcome, Stopped
from jobs.sending import send_for_row

logger = logging.getLogger(__name__)
FREE: dict[str, Any] = {"token": None, "lease_until": None, "worker": ""}
BUSY_WAIT = timedelta(seconds=5)
News = Outcome | JobPaused | JobFailed | Stopped


def work(run: JobRun) -> News:
    """Run one chunk and catch every way it may end."""
    kind = kinds.get(run.job.kind)
    if kind is None:
        return JobFailed(_("This version of CharMem does not know this kind of work."), error_type="UnknownKind")
    try:
        return kind.run(run)
    except (JobPaused, JobFailed, Stopped) as news:
        return news
    except OperationalError as error:
        return _busy(run, error)
    except Exception as error:  # noqa: BLE001  whatever a kind does wrong ends as a sentence on its job
        return _unexpected(run, error)


def end(run: JobRun, news: News) -> None:
    """Write the end of a chunk into the row; nothing is written when the lease was lost."""
    if isinstance(news, LeaseLost):
        return
    if isinstance(news, JobPaused):
        why: dict[str, Any] = {"doing": news.reason[:300], "error_type": news.cause[:80]}
        _go_on_later(run, state=Job.State.PAUSED, not_before=news.until, **why)
    elif isinstance(news, JobFailed):
        _fail(run, news)
    elif isinstance(news, Stopped):
        _go_on_later(run, state=Job.State.QUEUED)
    elif news.more:
        wake = news.not_before is not None
        _go_on_later(run, wake=wake, state=Job.State.QUEUED, not_before=news.not_before, failures=0)
    else:
        _be_done(run, news)
    if run.job.parent_id:
        batch.settle(run.job.parent_id)


def _be_done(run: JobRun, news: Outcome) -> None:
    """Done, unless somebody asked for more since the chunk looked for the last time."""
    where = None if news.params is None else Q(params=news.params)
    if not _finish(run, where, state=Job.State.DONE, result=news.result or {}, doing="") and where is not None:
        _go_on_later(run, wake=False, state=Job.State.QUEUED, failures=0)


def _finish(run: JobRun, where: Q | None = None, **fields: Any) -> bool:
    return run.write(where, finished_at=timezone.now(), not_before=None, cancel_requested=False, **FREE, **fields)


def _go_on_later(run: JobRun, *, wake: bool = True, not_before: datetime | None = None, **fields: Any) -> None:
    """Give the slot back, unless the person cancelled meanwhile. Without `wake` the caller looks for work itself."""
    sent_at = None if wake else timezone.now()
    kept = run.write(Q(cancel_requested=False), sent_at=sent_at, not_before=not_before, **FREE, **fields)
    if not kept:
        _finish(run, state=Job.State.CANCELLED, doing="")
    elif wake:
        transaction.on_commit(partial(send_for_row, run.job.pk, not_before))


def _fail(run: JobRun, failure: JobFailed) -> None:
    run.log(failure.message, "bad")
    _finish(
        run,
        state=Job.State.FAILED,
        error=failure.message,
        error_type=failure.error_type[:80],
        hint=failure.hint,
        can_retry=failure.retry,
    )


def _busy(run: JobRun, error: OperationalError) -> News:
    """The database was busy or away: wait a little, and give up after `max_failures` times in a row."""
    logger.warning("Job %s could not use the database (%s).", run.job.pk, type(error).__name__)
    if run.job.failures + 1 >= run.job.max_failures:
        return _unexpected(run, error)
    run.job.failures += 1
    run.lease.rows().update(failures=F("failures") + 1)
    return JobPaused(timezone.now() + BUSY_WAIT, _("The database was busy. This goes on by itself in a moment."))


def _unexpected(run: JobRun, error: Exception) -> JobFailed:
    """Where it happened goes to the log; the error's own text may quote a chat and goes nowhere."""
    name = type(error).__name__
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("Job %s (%s) ended with %s:\n%s", run.job.pk, run.job.kind, name, where)
    return JobFailed(
        _("Something unexpected went wrong (%(name)s). What was finished before is kept.") % {"name": name},
        hint=_("Press Retry. If it happens again, the server's log says where it happened."),
        error_type=name,
    )
