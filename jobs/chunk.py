"""One chunk from claim to end, in the calling thread."""

from __future__ import annotations

from accounts.models import User
from accounts.ownership import unscoped
from jobs.ending import end, work
from jobs.lease import Lease, claim_next
from jobs.models import Job
from jobs.pulse import pulse
from jobs.run import JobRun


def run_next(owner: User | None = None) -> bool:
    """Claim the job whose turn it is and run one chunk of it; False when nothing is due."""
    with unscoped("jobs are run for everybody"):
        lease = claim_next(owner)
    if lease is None:
        return False
    run_chunk(lease)
    return True


def run_chunk(lease: Lease) -> None:
    """Run one chunk of the job that `lease` holds and write how it ended."""
    with unscoped("a job runs for its owner"):
        job = Job.objects.select_related("owner").filter(pk=lease.job_id, token=lease.token).first()
        if job is None:
            return
        run = JobRun(job, lease)
        with pulse.watch(run) as run.is_watched:
            news = work(run)
        end(run, news)
