"""The check of an import or a reformat: what is left over first, the source beside the result, then Save."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest, owned
from memories import conversion, drafts
from memories.character_frame import character_frame
from memories.conversion_databank import save_as, still_injected
from memories.conversion_page import Check, price_of, targets
from memories.memory_file import file_for
from memories.memory_list import is_uuid
from memories.models import Draft, MemoryFile, Proposal
from memories.views.blocks import undo_url
from memories.views.editor_place import bar
from memories.views.pace import keep_pace
from memories.views.proposal_run import run_context
from memories.views.saying import explained, say
from providers.purposes import CONVERSION
from providers.queries import connection_for
from sync.models import Chat


def page(request: PersonRequest, proposal: Proposal) -> HttpResponse:
    """One import or reformat, wherever it stands."""
    draft = proposal.draft
    if proposal.state == Proposal.State.READY and draft is not None and draft.state == Draft.State.SAVED:
        conversion.close(proposal, Proposal.State.APPLIED)  # it was saved on the page of a merge
    if proposal.state == Proposal.State.READY and draft is not None and draft.state == Draft.State.OPEN:
        return _check(request, proposal, draft)
    context = run_context(request, proposal)
    if proposal.state == Proposal.State.APPLIED:
        return render(
            request, "memories/import_done.html", context | {"original": still_injected(request.user, proposal)}
        )
    return render(request, "memories/import_run.html", context)


def _check(request: PersonRequest, proposal: Proposal, draft: Draft) -> HttpResponse:
    draft.file, draft.owner = proposal.file, request.user
    check = Check(proposal, draft, page=request.GET.get("page", 1), lines=request.GET.get("lines"))
    connection = connection_for(request.user, CONVERSION)
    is_import = check.is_import
    calls, price = price_of(request.user, proposal, connection) if is_import else (0, None)
    context: dict[str, Any] = {
        "proposal": proposal,
        "check": check,
        "cards": check.cards,
        "targets": targets(request.user, proposal.file.character, proposal.file) if is_import else [],
        "connection": connection,
        "calls": calls,
        "price": price,
        "can_step_back": proposal.previous is not None and proposal.previous.state == Proposal.State.READY,
        "hero": character_frame(request.user, proposal.file.character),
        "tab": "memories",
        **bar(draft, check.view),
    }
    return render(request, "memories/import_check.html", context)


@require_POST
def lines_left(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Add left-over lines to the result, or leave them out: those that the form names, or all."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        chosen = _numbers(request, "line")
        if "add" in request.POST:
            count = conversion.add_lines(proposal, chosen)
            text = ngettext("%(n)d line added as a memory.", "%(n)d lines added as memories.", count)
        else:
            count = conversion.leave_out(proposal, None if "all" in request.POST else chosen)
            text = ngettext("%(n)d line left out.", "%(n)d lines left out.", count)
        messages.success(request, text % {"n": count})
    return redirect("memories:proposal", proposal.pk)


def _numbers(request: PersonRequest, field: str) -> list[int]:
    """The places that a field names."""
    return [int(one) for one in request.POST.getlist(field) if one.isdecimal() and len(one) < 10]


@require_POST
def known(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Take a memory in although the file has it already."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        conversion.add_known(proposal, _numbers(request, "known"))
    return redirect("memories:proposal", proposal.pk)


@require_POST
def again(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Read the source once more: as another format, or by a model. This reading is kept for stepping back."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        keep_pace(request, "run")
        by = conversion.MODEL if request.POST.get("by") == conversion.MODEL else conversion.RULES
        form = request.POST.get("format", "")
        return redirect("memories:proposal", conversion.again(request.user, proposal, form=form, by=by).pk)
    return redirect("memories:proposal", proposal.pk)


@require_POST
def step_back(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Back to the reading before this one."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        return redirect("memories:proposal", conversion.step_back(proposal).pk)
    return redirect("memories:proposal", proposal.pk)


@require_POST
def save(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """One revision of the chosen file, or a Data Bank file of its own; then the page says what remains to be done."""
    proposal = owned(Proposal, request, pk=proposal_id)
    target = request.POST.get("target", "")
    try:
        with explained(request):
            if target == "new":
                made = save_as(request.user, proposal, request.POST.get("name", ""))
                messages.success(request, _("%(name)s is being written to the Data Bank.") % {"name": made.name})
            else:
                file = _target(request, proposal, target)
                revision = conversion.save(request.user, proposal, file=file)
                say(request, _("Saved as revision %(n)d.") % {"n": revision.number}, undo_url(revision.file))
    except drafts.MergeNeeded:
        return redirect("memories:draft_merge", proposal.draft_id)
    return redirect("memories:proposal", proposal.pk)


def _target(request: PersonRequest, proposal: Proposal, wanted: str) -> MemoryFile | None:
    """The file that the form names: one that exists, or the one of a chat; None = the proposal's own."""
    kind, _colon, pk = wanted.rpartition(":")
    if not is_uuid(pk):
        return None
    character = proposal.file.character
    if kind == "chat":
        return file_for(character, owned(Chat, request, pk=pk, character=character))
    return owned(MemoryFile, request, pk=pk, character=character)


@require_POST
def following(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """The next part of a long source."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        found = conversion.go_on(request.user, proposal)
        if found is not None:
            return redirect("memories:proposal", found.pk)
        messages.info(request, _("This was the last part."))
    return redirect("memories:proposal", proposal.pk)
