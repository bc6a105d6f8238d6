"""Two texts of one memory file met: both are shown, the person chooses, nothing is lost whichever it is."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.access import owned
from accounts.models import User
from memories import outside_text, write_back
from memories.models import MemoryFile
from memories.two_texts import sides
from sync.models import FileConflict


@require_GET
def show(request: HttpRequest, conflict_id: UUID) -> HttpResponse:
    """Ours beside theirs, what both have folded up."""
    conflict = owned(FileConflict, request, pk=conflict_id)
    file = owned(MemoryFile, request, attachment=conflict.attachment_id)
    ours, theirs = sides(conflict.ours, conflict.theirs)
    context = {"conflict": conflict, "file": file, "character": file.character, "ours": ours, "theirs": theirs}
    return render(request, "memories/conflict.html", context)


@require_POST
def decide(request: HttpRequest, conflict_id: UUID) -> HttpResponse:
    """Keep ours, theirs, or both."""
    conflict = owned(FileConflict, request, pk=conflict_id, decided_at__isnull=True)
    file = owned(MemoryFile, request, attachment=conflict.attachment_id)
    try:
        outside_text.decide(cast(User, request.user), conflict, request.POST.get("decision", ""))
    except ValueError as problem:
        messages.error(request, str(problem))
        return redirect("memories:conflict", conflict_id=conflict.pk)
    messages.success(request, _("Decided. The other text stays in the history."))
    return redirect("memories:character", file.character_id)


@require_POST
def rebuild_index(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Have SillyTavern's vector index of a memory file built anew."""
    file = owned(MemoryFile, request, pk=file_id)
    write_back.rebuild(file)
    messages.success(request, _("The vector index is being built."))
    return redirect("memories:character", file.character_id)
