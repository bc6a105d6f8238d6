"""Revisions of a character's memory file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import editing, memory_file
from memories.character_frame import character_frame
from memories.history_page import compare, previous, revisions
from memories.memory_list import files_of
from memories.models import MemoryFile, Revision
from memories.revisions import revision_state
from memories.views.blocks import undo_url
from memories.views.files import named_file
from memories.views.saying import explained, say
from sync.models import Character

REVISIONS_A_PAGE = 60


def _shown(
    request: PersonRequest, character: Character, file: MemoryFile | None, chosen: Revision | None
) -> HttpResponse:
    everything = revisions(request.user, file) if file else []
    chosen = chosen or (everything[0] if everything else None)
    context: dict[str, Any] = {
        "hero": character_frame(request.user, character),
        "tab": "history",
        "chosen": None,
        "file": file,
        "files": files_of(request.user, character),
    }
    if chosen is not None:
        position = next((n for n, row in enumerate(everything) if row.pk == chosen.pk), 0)
        number = request.GET.get("page") or position // REVISIONS_A_PAGE + 1
        before = previous(request.user, chosen)
        related = ("state", "author", "job", "file__owner")
        context |= {
            "chosen": Revision.objects.for_user(request.user).select_related(*related).get(pk=chosen.pk),
            "before": before,
            "page": Paginator(everything, REVISIONS_A_PAGE).get_page(number),
            "is_newest": position == 0,
        }
        context["diff"] = compare(before, context["chosen"])
    return render(request, "memories/history.html", context)


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """All revisions of the character's file (or the one that `file` names), the newest one opened."""
    character = owned(Character, request, pk=character_id)
    return _shown(request, character, named_file(request, character), None)


@require_safe
def one(request: PersonRequest, revision_id: UUID) -> HttpResponse:
    """What one revision changed, side by side."""
    revision = owned(Revision, request, pk=revision_id)
    return _shown(request, revision.file.character, revision.file, revision)


@require_POST
def restore_block(request: PersonRequest, revision_id: UUID, block_id: UUID) -> HttpResponse:
    """Bring one block back as it was in a revision; everything else stays as it is."""
    revision = owned(Revision, request, pk=revision_id)
    state = revision_state(revision)
    if all(block["id"] != str(block_id) for block in state["blocks"]):
        raise Http404(_("That version has no such block."))
    with explained(request):
        made = memory_file.restore_block(revision.file, revision, str(block_id), author=request.user)
        if made is None:
            messages.info(request, _("The block is like that already."))
        else:
            text = _("The block is back as it was in revision %(n)s.") % {"n": revision.number}
            say(request, text, undo_url(revision.file))
    return _to_history(revision.file)


@require_POST
def restore(request: PersonRequest, revision_id: UUID) -> HttpResponse:
    """Bring one revision back as a new one; the present one stays in the history."""
    revision = owned(Revision, request, pk=revision_id)
    with explained(request):
        editing.restore_revision(request.user, revision)
        text = _("Revision %(n)s is back. What was there before stays in the history.") % {"n": revision.number}
        say(request, text, undo_url(revision.file))
    return _to_history(revision.file)


def _to_history(file: MemoryFile) -> HttpResponse:
    url = reverse("memories:history", args=[file.character_id])
    return redirect(f"{url}?file={file.pk}" if file.chat_id else url)
