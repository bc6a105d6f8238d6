"""Revisions of a character's memory file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import editing
from memories.character_frame import character_frame
from memories.history_page import compare, previous, revisions
from memories.memory_file import revision_text
from memories.models import Revision
from memories.views.blocks import undo_url
from memories.views.saying import explained, say
from sync.models import Character

REVISIONS_A_PAGE = 60


def _shown(request: PersonRequest, character: Character, chosen: Revision | None) -> HttpResponse:
    everything = revisions(request.user, character)
    chosen = chosen or (everything[0] if everything else None)
    context: dict[str, Any] = {"hero": character_frame(request.user, character), "tab": "history", "chosen": None}
    if chosen is not None:
        position = next((n for n, row in enumerate(everything) if row.pk == chosen.pk), 0)
        number = request.GET.get("page") or position // REVISIONS_A_PAGE + 1
        before = previous(request.user, chosen)
        context |= {
            "chosen": Revision.objects.for_user(request.user).select_related("text", "author", "job").get(pk=chosen.pk),
            "before": before,
            "page": Paginator(everything, REVISIONS_A_PAGE).get_page(number),
            "is_newest": position == 0,
        }
        context["diff"] = compare(revision_text(before) if before else "", revision_text(context["chosen"]))
    return render(request, "memories/history.html", context)


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """All revisions, the newest one opened."""
    return _shown(request, owned(Character, request, pk=character_id), None)


@require_safe
def one(request: PersonRequest, revision_id: UUID) -> HttpResponse:
    """What one revision changed, side by side."""
    revision = owned(Revision, request, pk=revision_id)
    return _shown(request, revision.file.character, revision)


@require_POST
def restore(request: PersonRequest, revision_id: UUID) -> HttpResponse:
    """Bring one revision back as a new one; the present one stays in the history."""
    revision = owned(Revision, request, pk=revision_id)
    character = revision.file.character
    with explained(request):
        editing.restore_revision(request.user, revision)
        text = _("Revision %(n)s is back. What was there before stays in the history.") % {"n": revision.number}
        say(request, text, undo_url(revision.file))
    return redirect("memories:history", character.pk)
