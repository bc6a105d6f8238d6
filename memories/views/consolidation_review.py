"""The review of a consolidation: nothing is applied before a person has seen it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import consolidation, drafts
from memories import consolidation_reads as reads
from memories.character_frame import character_frame
from memories.consolidation_compare import side_by_side
from memories.consolidation_review import Review
from memories.consolidation_setup import strategy_title
from memories.models import Draft, Proposal
from memories.views.blocks import undo_url
from memories.views.editor_place import bar
from memories.views.saying import explained, say


def review_page(request: PersonRequest, proposal: Proposal, draft: Draft) -> HttpResponse:
    """Old beside new; what is not accounted for stands on top."""
    review = Review(proposal, draft, request.GET.get("page", 1))
    context: dict[str, Any] = {
        "proposal": proposal,
        "review": review,
        "strategy": strategy_title(request.user, proposal.params.get("strategy", "")),
        "earlier": proposal.previous,
        "others": [one for one in reads.stack(proposal) if one.pk != proposal.pk and one.draft_id],
        "is_open": proposal.state == Proposal.State.READY and draft.state == Draft.State.OPEN,
        "hero": character_frame(request.user, proposal.file.character),
        "tab": "memories",
        **bar(draft, review.view),
    }
    return render(request, "memories/consolidate_review.html", context)


def consolidation_of(request: PersonRequest, proposal_id: UUID) -> Proposal:
    """The person's consolidation, or 404: an import is reviewed elsewhere."""
    return owned(Proposal, request, pk=proposal_id, kind=Proposal.Kind.CONSOLIDATION)


@require_POST
def keep(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Put old memories back beside the new ones, word for word: those named, or all that are lost."""

    def said(count: int) -> str:
        return ngettext("%(n)s memory is kept word for word.", "%(n)s memories are kept word for word.", count)

    return _decided(request, proposal_id, consolidation.put_back, said)


@require_POST
def let_go(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Do without old memories on purpose. The history keeps them."""

    def said(count: int) -> str:
        return ngettext("%(n)s memory will go.", "%(n)s memories will go.", count)

    return _decided(request, proposal_id, consolidation.let_go, said)


def _decided(
    request: PersonRequest,
    proposal_id: UUID,
    decide: Callable[[Proposal, list[str]], object],
    said: Callable[[int], str],
) -> HttpResponse:
    """Do it with the old memories that the form names, and say with how many."""
    proposal = consolidation_of(request, proposal_id)
    with explained(request):
        ids = _named(request, proposal)
        decide(proposal, ids)
        messages.success(request, said(len(ids)) % {"n": len(ids)})
    return redirect("memories:proposal", proposal.pk)


@require_POST
def apply(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """One revision of the file. What is lost is lost only when the button said so."""
    proposal = consolidation_of(request, proposal_id)
    file = proposal.file
    try:
        with explained(request):
            revision = consolidation.apply(request.user, proposal, lose=request.POST.get("lose") == "yes")
            notes = drafts.saved_notes(proposal.draft) if proposal.draft else []
            say(request, " ".join([_("Applied as revision %(n)s.") % {"n": revision.number}, *notes]), undo_url(file))
            return redirect("memories:character", file.character_id)
    except drafts.MergeNeeded:
        return redirect("memories:draft_merge", proposal.draft_id)
    return redirect("memories:proposal", proposal.pk)


@require_safe
def compare(request: PersonRequest, proposal_id: UUID, other_id: UUID) -> HttpResponse:
    """Two results of the same choice side by side, with price."""
    left, right = (consolidation_of(request, pk) for pk in (proposal_id, other_id))
    context = {
        **side_by_side(request.user, left, right),
        "proposal": left,
        "hero": character_frame(request.user, left.file.character),
        "tab": "memories",
    }
    return render(request, "memories/consolidate_compare.html", context)


def _named(request: PersonRequest, proposal: Proposal) -> list[str]:
    """The old memories that the form names; `all` means every lost one."""
    if "all" in request.POST and proposal.draft is not None:
        return [one.id for one in Review(proposal, proposal.draft).lost]
    known = proposal.report.get("sources", {})
    return [one for one in request.POST.getlist("source") if one in known]
