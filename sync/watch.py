"""When folders are looked at: every ten seconds, one pass at a time per tavern, the first import as a job.

The lease is a token on the tavern's row, taken by compare-and-set, so that two workers never pass the same folder at
once. It is renewed while a long pass goes on; a worker that died leaves it to run out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

from django.db import IntegrityError
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobRun, Outcome, done
from sync.mirror import mirror
from sync.mirror_pass import PassReport
from sync.models import Tavern

EVERY = 10.0
LEASE = timedelta(seconds=90)
RENEW = 20.0
SLICE = 30.0  # seconds of a first import before the slot is given back
WAIT = timedelta(seconds=2)  # until the next try while somebody else holds the folder
KIND = "mirror"
logger = logging.getLogger(__name__)


def look(
    tavern: Tavern,
    *,
    note: Callable[..., None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> PassReport | None:
    """One pass under the lease; None when somebody else is at it, or when the folder was forgotten meanwhile."""
    with _lease(tavern) as renew:
        if renew is None:
            return None

        def stop() -> bool:
            return not renew() or (should_stop is not None and should_stop())

        tavern.refresh_from_db()
        try:
            return mirror(tavern, note=note, should_stop=stop)
        except IntegrityError:
            with unscoped("whether the folder was forgotten"):
                if Tavern.objects.filter(pk=tavern.pk).exists():
                    raise
            return None


def look_at_all() -> None:
    """The periodic pass over every linked folder. A folder that was never read gets its job again if it lost it."""
    with unscoped("the periodic pass over linked folders"):
        taverns = list(Tavern.objects.select_related("owner").filter(owner__is_active=True, unlinked_at=None))
    for tavern in taverns:
        try:
            if tavern.state == Tavern.State.NEW:
                start_import(tavern)
            else:
                look(tavern)
        except Exception:  # one folder must not stop the others
            logger.exception("The pass over a linked folder failed.")


def start_import(tavern: Tavern) -> Job:
    """Read a new folder in the background; the job that already does so is given back."""
    job, _is_new = enqueue(
        tavern.owner,
        KIND,
        key=f"{KIND}:{tavern.pk}",
        subject=str(tavern.pk),
        label=_("Read %(name)s") % {"name": tavern.name},
    )
    return job


def _run(run: JobRun) -> Outcome:
    tavern = Tavern.objects.filter(pk=run.job.subject, unlinked_at=None).first()
    if tavern is None:
        raise JobFailed(_("This folder is not linked any more."), retry=False)
    until = time.monotonic() + SLICE
    report = look(tavern, note=run.progress, should_stop=lambda: run.should_stop() or time.monotonic() > until)
    run.check()
    if report is None:
        return Outcome(more=True, not_before=timezone.now() + WAIT)
    if not report.finished:
        return MORE
    if report.state != Tavern.State.OK:
        raise JobFailed(report.reason, hint=_("Bring the folder back; CharMem looks again by itself."))
    run.log(_("%(count)d messages read") % {"count": report.messages_written}, level="good")
    return done({"characters": report.characters, "chats": len(report.chats), "messages": report.messages_written})


def _page(job: Job) -> str:
    return reverse("sync:settings")


FIRST_IMPORT = JobKind(KIND, _("Read a SillyTavern folder"), _run, _page, "files")


@contextmanager
def _lease(tavern: Tavern) -> Iterator[Callable[[], bool] | None]:
    """Hold the tavern; yields a function that renews the hold in time, or None when it is held by somebody else."""
    token = uuid4()
    with unscoped("the lease of a pass"):
        rows = Tavern.objects.filter(pk=tavern.pk)
        now = timezone.now()
        is_free = Q(pass_until=None) | Q(pass_until__lt=now)
        if not rows.filter(is_free).update(pass_token=token, pass_until=now + LEASE):
            yield None
            return
    renewed = time.monotonic()

    def renew() -> bool:
        nonlocal renewed
        if time.monotonic() - renewed < RENEW:
            return True
        with unscoped("the lease of a pass"):
            held = Tavern.objects.filter(pk=tavern.pk, pass_token=token).update(pass_until=timezone.now() + LEASE)
        renewed = time.monotonic()
        return bool(held)

    try:
        yield renew
    finally:
        with unscoped("the lease of a pass"):
            Tavern.objects.filter(pk=tavern.pk, pass_token=token).update(pass_token=None, pass_until=None)
