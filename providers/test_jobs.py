"""Tests of connections as jobs: a model may think for minutes, and a page waits for nobody."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from jobs.enqueue import active_of, enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import JobFailed, JobRun, Outcome, Stopped, done
from providers.base import ProviderError
from providers.models import Connection
from providers.test_connection import test_connection

KIND = "test_connection"


def start(connection: Connection) -> Job:
    """Test it in the background. A second press while it runs starts nothing."""
    job, _is_new = enqueue(
        connection.owner,
        KIND,
        key=_key(connection),
        subject=f"connection:{connection.pk}",
        label=_("Test %(name)s") % {"name": connection.name},
        params={"connection": str(connection.pk)},
        total=1,
    )
    return job


def running(connection: Connection) -> Job | None:
    """The test that is under way or waits for its turn."""
    return active_of(connection.owner, _key(connection), lets_go=False)


def run(run: JobRun) -> Outcome:
    """The whole test. What the model did wrong is its result, not a failure of the job."""
    connection = Connection.objects.for_user(run.owner).filter(pk=run.params["connection"]).first()
    if connection is None:
        raise JobFailed(_("This connection was removed."), error_type="gone", retry=False)
    connection.owner = run.owner
    try:
        verdict = test_connection(connection, stop=run.should_stop, job=run.job)
    except ProviderError as error:
        raise Stopped from error
    with run.commit():
        run.progress(step=1)
    return done({"text": verdict.message})


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Test a connection"), run=run, page=_page)


def _key(connection: Connection) -> str:
    return f"{KIND}:{connection.pk}"


def _page(job: Job) -> str:
    return reverse("providers:edit", args=[job.params["connection"]])
