"""One proposal, whatever it is: a consolidation, an import, a tidying up, a stretch read again."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import proposals
from memories.models import Proposal
from memories.views import again, consolidation, conversion_check
from memories.views.proposal_run import run_context
from memories.views.saying import explained, say


@require_safe
def page(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Its progress, its review, or what became of it."""
    proposal = proposals.settle(owned(Proposal, request, pk=proposal_id))
    if proposal.kind == Proposal.Kind.CONSOLIDATION:
        return consolidation.page(request, proposal)
    if proposal.kind == Proposal.Kind.REREAD:
        return again.page(request, proposal)
    return conversion_check.page(request, proposal)


@require_safe
def live(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """The progress, for the page itself; it is loaded anew when the work has ended."""
    proposal = proposals.settle(owned(Proposal, request, pk=proposal_id))
    if proposal.state not in proposals.UNDER_WAY:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return render(request, "memories/_proposal_progress.html", run_context(request, proposal))


@require_POST
def stop(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Stop the work; what was answered stays and it can go on later."""
    proposal = owned(Proposal, request, pk=proposal_id)
    proposals.stop(proposal)
    messages.info(request, _("Stopping. What is done is kept, and it can go on later."))
    return redirect("memories:proposal", proposal.pk)


@require_POST
def go_on(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Take up work that was stopped or failed, behind what is done."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        proposals.resume(request.user, proposal)
    return redirect("memories:proposal", proposal.pk)


@require_POST
def discard(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Put the result aside; memories and source stay as they are."""
    proposal = owned(Proposal, request, pk=proposal_id)
    proposals.discard(proposal)
    is_whole = proposal.state == Proposal.State.DISCARDED and proposal.draft is not None
    undo = reverse("memories:proposal_bring_back", args=[proposal.pk]) if is_whole else ""
    say(request, _("Discarded. The memories are as they were."), undo)
    return redirect("memories:character", proposal.file.character_id)


@require_POST
def bring_back(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Take a discarded result up again, with everything that was changed in it."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        proposals.bring_back(proposal)
    return redirect("memories:proposal", proposal.pk)
