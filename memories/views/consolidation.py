"""Consolidating memories: choosing blocks, the price, the run with its progress."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import consolidation
from memories.character_frame import character_frame
from memories.consolidation_choice import Choice, Chosen, chosen, read_choice, suggested
from memories.consolidation_reads import estimate
from memories.consolidation_setup import Setup, read_setup
from memories.models import MemoryFile, Proposal
from memories.proposals import UNDER_WAY
from memories.views.consolidation_review import consolidation_of, review_page
from memories.views.files import chosen_file
from memories.views.pace import keep_pace
from memories.views.proposal_run import run_context
from memories.views.saying import explained
from sync.models import Character


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Choose blocks, strategy and model; the price stands on the button. Nothing is applied by running it."""
    character = owned(Character, request, pk=character_id)
    file = chosen_file(request, character)
    is_sent = request.method == "POST"
    query = request.POST if is_sent else request.GET
    setup = read_setup(request.user, query)
    picked = _picked(file, query, is_sent=is_sent)
    if is_sent and _is_stale(request, file):
        picked = chosen(file, read_choice(query))
        messages.warning(request, _("These memories changed meanwhile. Look at the blocks again; nothing was started."))
    elif is_sent:
        with explained(request):
            keep_pace(request, "run")
            proposal = consolidation.start_consolidation(
                request.user, file, block_ids=picked.blocks, strategy=setup.strategy, connection=setup.connection
            )
            return redirect("memories:proposal", proposal.pk)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "memories",
        "file": file,
        "choice": read_choice(query),
        "chosen": picked,
        "setup": setup,
        "open": _unfinished(request, file),
        **_price(request, file, picked, setup),
    }
    return render(request, "memories/consolidate.html", context, status=422 if is_sent else 200)


@require_safe
def groups(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Blocks that belong together; read after the page, because comparing takes a moment."""
    file = chosen_file(request, owned(Character, request, pk=character_id))
    found = suggested(request.user, file, read_choice(request.GET))
    return render(request, "memories/_consolidate_groups.html", {"suggestions": found, "file": file})


@require_POST
def price(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The numbers and the price of the present choice, while it is being made."""
    file = chosen_file(request, owned(Character, request, pk=character_id))
    picked = _picked(file, request.POST, is_sent=True)
    setup = read_setup(request.user, request.POST)
    context = {"chosen": picked, "setup": setup, "file": file, **_price(request, file, picked, setup)}
    return render(request, "memories/_consolidate_price.html", context)


def page(request: PersonRequest, proposal: Proposal) -> HttpResponse:
    """One consolidation, wherever it stands: at work, broken off, or waiting for its review."""
    if proposal.state in (Proposal.State.READY, Proposal.State.APPLIED) and proposal.draft is not None:
        return review_page(request, proposal, proposal.draft)
    return render(request, "memories/consolidate_run.html", run_context(request, proposal))


@require_http_methods(["GET", "HEAD", "POST"])
def again(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Run the same choice once more, with the same or another strategy or model; this result is kept."""
    proposal = consolidation_of(request, proposal_id)
    setup = read_setup(request.user, request.POST or _as_before(proposal))
    if request.method == "POST":
        with explained(request):
            keep_pace(request, "run")
            made = consolidation.rerun(request.user, proposal, strategy=setup.strategy, connection=setup.connection)
            return redirect("memories:proposal", made.pk)
    character = proposal.file.character
    context = {
        "proposal": proposal,
        "setup": setup,
        "hero": character_frame(request.user, character),
        "tab": "memories",
    }
    return render(request, "memories/consolidate_again.html", context)


def _as_before(proposal: Proposal) -> QueryDict:
    query = QueryDict(mutable=True)
    query["strategy"] = str(proposal.params.get("strategy", ""))
    query["connection"] = str(proposal.connection_id or "")
    return query


def _picked(file: MemoryFile, query: QueryDict, *, is_sent: bool) -> Chosen:
    choice: Choice = read_choice(query)
    return chosen(file, choice, query.getlist("block") if is_sent else None)


def _is_stale(request: PersonRequest, file: MemoryFile) -> bool:
    return request.POST.get("version", "") != str(file.version)


def _price(request: PersonRequest, file: MemoryFile, picked: Chosen, setup: Setup) -> dict[str, Any]:
    """The estimate, or the sentence why there is none."""
    if setup.connection is None or not picked.blocks:
        return {"estimate": None}
    try:
        found = estimate(request.user, file, picked.blocks, setup.strategy, setup.connection)
    except ValueError as error:
        return {"estimate": None, "problem": str(error)}
    return {"estimate": found}


def _unfinished(request: PersonRequest, file: MemoryFile) -> Proposal | None:
    """A consolidation of this file that waits for the person or is at work."""
    states = (*UNDER_WAY, Proposal.State.READY, Proposal.State.STOPPED, Proposal.State.FAILED)
    rows = Proposal.objects.for_user(request.user).filter(file=file, kind=Proposal.Kind.CONSOLIDATION)
    return rows.filter(state__in=states).first()
