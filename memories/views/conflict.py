"""Two texts of one memory file met: both are shown, the person chooses, nothing is lost whichever it is."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.access import owned
from accounts.models import User
from memories import mirrored, outside_text, write_back
from memories.memory_filters import topic_words
from memories.merge import Merge
from memories.merge_page import merge_cards, settled_words
from memories.models import MemoryFile
from memories.outside_merge import Trio
from memories.two_texts import sides
from sync import vectors
from sync.models import FileConflict


@require_GET
def show(request: HttpRequest, conflict_id: UUID) -> HttpResponse:
    """Block by block where both changed one, else the whole texts side by side."""
    conflict = owned(FileConflict, request, pk=conflict_id)
    file = _file(conflict, cast(User, request.user))
    rows = outside_text.blocks_of(conflict, file)
    ours, theirs = sides(conflict.ours, conflict.theirs)
    context = {
        "conflict": conflict,
        "file": file,
        "character": file.character,
        "ours": ours,
        "theirs": theirs,
        "cards": merge_cards(Merge([row.shown() for row in rows if row.is_conflict])),
        "has_blocks": bool(rows),
        "settled": [_settled(row) for row in rows if not row.is_conflict and row.mine != row.theirs],
    }
    return render(request, "memories/conflict.html", context)


def _file(conflict: FileConflict, user: User) -> MemoryFile:
    """The file whose text lies there; 404 when none is written there any more."""
    file = mirrored.file_at(user, conflict.attachment)
    if file is None:
        raise Http404(_("No memory file is written there any more."))
    return file


def _settled(row: Trio) -> tuple[str, str]:
    """(topic, what happened) of a block that fits by itself."""
    has = [bool(one) for one in (row.base, row.mine, row.theirs)]
    return topic_words(row.shown().title), settled_words(*has, is_ours=row.mine != row.base)


@require_POST
def decide(request: HttpRequest, conflict_id: UUID) -> HttpResponse:
    """Block by block (`choice-<block>`), or one of the texts whole: `decision` is blocks, ours, theirs or both."""
    conflict = owned(FileConflict, request, pk=conflict_id, decided_at__isnull=True)
    file = _file(conflict, cast(User, request.user))
    choices = {key.removeprefix("choice-"): str(value) for key, value in request.POST.items() if key[:7] == "choice-"}
    try:
        outside_text.decide(cast(User, request.user), conflict, request.POST.get("decision", ""), choices)
    except ValueError as problem:
        messages.error(request, str(problem))
        return redirect("memories:conflict", conflict_id=conflict.pk)
    messages.success(request, _("Decided. Both texts stay in the history."))
    return redirect("memories:character", file.character_id)


@require_POST
def rebuild_index(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Have SillyTavern's vector index of a memory file built anew."""
    file = owned(MemoryFile, request, pk=file_id)
    if reason := vectors.why_not(file.character.tavern):
        messages.error(request, reason)
        return redirect("memories:health", file.character_id)
    write_back.rebuild(file)
    messages.success(request, _("The vector index is being built."))
    return redirect("memories:character", file.character_id)
