"""What consolidations, imports and reformats have in common: the work on them begins, stops, goes on, is put aside.

planned ──▶ running ──▶ ready ──▶ applied
   └────────┴─▶ stopped, failed ──▶ planned again: what was answered is not asked anew
"""

from __future__ import annotations

import json

from django.db import transaction
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import User
from jobs.enqueue import enqueue, request_cancel
from jobs.enqueue import retry as retry_job
from jobs.models import Job
from memories import drafts
from memories.again_run import KIND as REREAD
from memories.consolidation_parts import FAILED, WAITING
from memories.consolidation_run import KIND as CONSOLIDATE
from memories.models import Draft, MemoryFile, Proposal
from memories.proposal_turn import set_state

CONVERT = "convert"
UNDER_WAY = (Proposal.State.PLANNED, Proposal.State.RUNNING)
OVER = (Proposal.State.APPLIED, Proposal.State.DISCARDED)
# Kind of proposal → (kind of its job, what the job is called).
WORK = {
    Proposal.Kind.CONSOLIDATION: (CONSOLIDATE, gettext_noop("Consolidate %(name)s")),
    Proposal.Kind.CONVERSION: (CONVERT, gettext_noop("Import %(name)s")),
    Proposal.Kind.REFORMAT: (CONVERT, gettext_noop("Sort %(name)s into topics")),
    Proposal.Kind.REREAD: (REREAD, gettext_noop("Read “%(name)s” again")),
}


def begin(user: User, proposal: Proposal) -> Proposal:
    """Store a new proposal and queue the work on it; gives the one that waits or runs already when the same is asked
    for once more, so that a second press pays nothing."""
    with transaction.atomic():
        MemoryFile.objects.for_user(user).filter(pk=proposal.file_id).update(version=F("version"))  # holds the row
        if (same := _under_way(user, proposal)) is not None:
            return same
        proposal.save(force_insert=True)
        proposal.job = enqueue_work(user, proposal)
        proposal.save(update_fields=["job"])
    return proposal


def _under_way(user: User, new: Proposal) -> Proposal | None:
    """Work on the same sources with the same words and the same model."""
    rows = Proposal.objects.for_user(user).filter(
        kind=new.kind,
        file=new.file_id,
        base_version=new.base_version,
        source=new.source_id,
        connection=new.connection_id,
        model=new.model,
        state__in=UNDER_WAY,
        job__state__in=Job.ACTIVE,
        job__cancel_requested=False,
    )
    wanted = json.loads(json.dumps(new.params))
    same = (one for one in rows if {name: one.params.get(name) for name in wanted} == wanted)
    return next(same, None)


def enqueue_work(user: User, proposal: Proposal) -> Job:
    """The job that makes the result; the same one when it waits or runs already."""
    kind, label = WORK[Proposal.Kind(proposal.kind)]
    character = proposal.file.character
    name = character.name if kind == CONSOLIDATE else proposal.source_name
    job, _new = enqueue(
        user,
        kind,
        key=f"{kind}:{proposal.pk}",
        subject=f"character:{character.pk}",
        label=_(label) % {"name": name},
        params={"proposal": str(proposal.pk)},
    )
    return job


def settle(proposal: Proposal) -> Proposal:
    """Bring the state in line with a job that was stopped or failed without another turn of its own."""
    job = proposal.job
    if job is None or proposal.state not in UNDER_WAY:
        return proposal
    job.refresh_from_db()
    ended = {Job.State.CANCELLED: Proposal.State.STOPPED, Job.State.FAILED: Proposal.State.FAILED}
    if job.state in ended:
        set_state(proposal, ended[Job.State(job.state)])
    return proposal


def stop(proposal: Proposal) -> None:
    """End the work on it; the parts that were answered are kept and `resume` goes on behind them."""
    if proposal.job is not None and proposal.job.is_active:
        request_cancel(proposal.job)
    settle(proposal)


def resume(user: User, proposal: Proposal) -> Proposal:
    """Go on with work that stopped or failed; what was answered is not asked again. ValueError for any other."""
    settle(proposal)
    if proposal.state not in (Proposal.State.STOPPED, Proposal.State.FAILED):
        raise ValueError(_("This work has not stopped."))
    proposal.parts.filter(state=FAILED).update(state=WAITING, attempts=0)
    set_state(proposal, Proposal.State.PLANNED)
    if proposal.job is None or not retry_job(proposal.job):
        proposal.job = enqueue_work(user, proposal)
        proposal.save(update_fields=["job"])
    return proposal


def discard(proposal: Proposal) -> None:
    """Put a result aside; the memories stay as they are. One that is still being made stops."""
    if proposal.job is not None and proposal.job.is_active:
        request_cancel(proposal.job)
    if rows(proposal).exclude(state__in=OVER).update(state=Proposal.State.DISCARDED):
        proposal.state = Proposal.State.DISCARDED
        if proposal.draft is not None:
            drafts.leave(proposal.draft)


def bring_back(proposal: Proposal) -> None:
    """Take up a result again that was discarded, as it was left. ValueError when there is no such result."""
    draft = proposal.draft
    if proposal.state != Proposal.State.DISCARDED or draft is None or draft.state != Draft.State.LEFT:
        raise ValueError(_("There is no discarded result to bring back."))
    drafts.resume(draft)
    rows(proposal).filter(state=Proposal.State.DISCARDED).update(state=Proposal.State.READY)
    proposal.state = Proposal.State.READY


def rows(proposal: Proposal) -> QuerySet[Proposal]:
    """The row of this proposal, to be changed only while it is what it was."""
    return Proposal.objects.for_user(proposal.owner).filter(pk=proposal.pk)


def page_of(job: Job) -> str:
    """Where a job's proposal stands: its progress, then its review."""
    return reverse("memories:proposal", args=[job.params["proposal"]])
