"""One proposal, whatever it is: a consolidation, an import, a tidying up."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from memories.models import Proposal
from memories.views import consolidation


@require_safe
def page(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Its progress, its review, or what became of it."""
    proposal = owned(Proposal, request, pk=proposal_id)
    if proposal.kind == Proposal.Kind.CONSOLIDATION:
        return consolidation.page(request, proposal)
    from memories.views import conversion

    return conversion.page(request, proposal)
