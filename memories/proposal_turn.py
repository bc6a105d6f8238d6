"""One turn of a job that makes a proposal: found again, worked on, and its state written however the turn ends."""

from __future__ import annotations

from collections.abc import Callable

from django.db import OperationalError

from accounts.ownership import unscoped
from jobs.run import JobFailed, JobPaused, JobRun, Outcome, Stopped, done
from memories.models import Proposal

OVER = (Proposal.State.READY, Proposal.State.APPLIED, Proposal.State.DISCARDED)
UNDER_WAY = (Proposal.State.PLANNED, Proposal.State.RUNNING, Proposal.State.STOPPED, Proposal.State.FAILED)


def take_turn(run: JobRun, work: Callable[[Proposal], Outcome], *, gone: str) -> Outcome:
    """Do `work` on the job's proposal; `gone` is the sentence for a proposal that was deleted meanwhile."""
    proposal = _proposal(run, gone)
    if proposal.state in OVER:
        return done(proposal.report.get("result", {}))
    if proposal.state != Proposal.State.RUNNING:
        set_state(proposal, Proposal.State.RUNNING)
    try:
        return work(proposal)
    except (JobPaused, OperationalError):
        raise
    except Stopped:
        if run.lease.cancelled:
            set_state(proposal, Proposal.State.STOPPED)
        raise
    except Exception:
        set_state(proposal, Proposal.State.FAILED)
        raise


def set_state(proposal: Proposal, state: str) -> None:
    """Write the state of a proposal that has no result yet."""
    with unscoped("the state of a proposal that the caller holds"):
        Proposal.objects.filter(pk=proposal.pk, state__in=UNDER_WAY).update(state=state)
    proposal.state = state


def _proposal(run: JobRun, gone: str) -> Proposal:
    rows = Proposal.objects.for_user(run.owner).filter(pk=run.params["proposal"])
    proposal = rows.select_related("file__character__tavern", "connection", "job", "draft").first()
    if proposal is None:
        raise JobFailed(gone, error_type="gone", retry=False)
    proposal.owner = proposal.file.owner = run.owner
    return proposal
