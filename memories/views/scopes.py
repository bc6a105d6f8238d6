"""Which memory a character's chats have in common, and with whom it is shared: chosen, shown first, taken back."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import scope_change, scope_words, sharing
from memories.character_frame import character_frame
from memories.memory_filters import is_uuid
from memories.models import MemoryScope
from memories.scope_change import Done
from memories.scopes import scope_of, share_of
from memories.views.saying import explained, say
from sync.models import Character

# What the page calls a choice: its scope and its timeline.
CHOICES = {"all": ("all", "shared"), "branches": ("all", "branches"), "chat": ("chat", "shared")}


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The three choices with what follows from them; `choice` shows what another one would do."""
    character = owned(Character, request, pk=character_id)
    user, present = request.user, name_of(scope_of(character))
    wanted = request.GET.get("choice", "")
    wanted = wanted if wanted in CHOICES else present
    context: dict[str, Any] = {
        "hero": character_frame(user, character),
        "tab": "settings",
        "present": present,
        "wanted": wanted,
        "plan": scope_change.plan(user, character, *CHOICES[wanted]) if wanted != present else None,
        "isolation": scope_words.isolation(user, character),
        "share": share_of(character),
        "sharers": sharing.sharers(user, character),
        "copies": scope_words.copies(user, character),
        "partners": sharing.partners(user, character),
    }
    return render(request, "memories/scope.html", context)


@require_POST
def choose(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Make a choice; with `moves` the memories that are there are divided or put together too."""
    character = owned(Character, request, pk=character_id)
    with explained(request):
        wanted = CHOICES.get(request.POST.get("choice", ""))
        if wanted is None:
            raise ValueError(_("Choose what its chats have in common. Nothing was changed."))
        done = scope_change.choose(request.user, character, *wanted, divides="moves" in request.POST)
        before = name_of(MemoryScope(scope=done.scope, timeline=done.timeline))
        say(request, _("Saved."), _undo("memories:scope_undo", character, choice=before, batch=done.batch or ""))
    return redirect("memories:scope", character.pk)


@require_POST
def undo(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take the choice back, with what it moved."""
    character = owned(Character, request, pk=character_id)
    scope, timeline = CHOICES.get(request.GET.get("choice", ""), CHOICES["all"])
    with explained(request):
        scope_change.undo(request.user, character, Done(_batch(request), scope, timeline))
        say(request, _("Taken back."))
    return redirect("memories:scope", character.pk)


@require_safe
def share_page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """What it means to remember in the file of the character `with`, before it is done."""
    character = owned(Character, request, pk=character_id)
    other = _other(request, request.GET.get("with", ""))
    if other is None:
        return redirect("memories:scope", character.pk)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "settings",
        "other": other,
        "preview": sharing.preview(request.user, character, other),
        "is_possible": other in sharing.partners(request.user, character) and share_of(character) is None,
    }
    return render(request, "memories/scope_share.html", context)


@require_POST
def share(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """From now on it remembers in the file of the character `with`; `takes` copies its own memories there first."""
    character = owned(Character, request, pk=character_id)
    other = _other(request, request.POST.get("with", ""))
    with explained(request):
        if other is None:
            raise ValueError(_("Choose with whom to share. Nothing was changed."))
        batch = sharing.share(request.user, character, other, takes_along="takes" in request.POST)
        text = _("%(name)s now remembers in the file of %(other)s.")
        address = _undo("memories:share_undo", character, batch=batch or "")
        say(request, text % {"name": character.name, "other": other.name}, address)
    return redirect("memories:scope", character.pk)


@require_POST
def share_end(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """It remembers for itself again."""
    character = owned(Character, request, pk=character_id)
    with explained(request):
        found = share_of(character)
        if found is None:
            raise ValueError(_("%(name)s shares no memory. Nothing was changed.") % {"name": character.name})
        other = found.file.character
        sharing.end(request.user, found)
        text = _("%(name)s remembers for itself again, with the memories it had.") % {"name": character.name}
        say(request, text, _undo("memories:share_again", character, **{"with": other.pk}))
    return redirect("memories:scope", character.pk)


@require_POST
def share_again(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take the end of a share back."""
    character = owned(Character, request, pk=character_id)
    other = _other(request, request.GET.get("with", ""))
    with explained(request):
        if other is None:
            raise ValueError(_("Choose with whom to share. Nothing was changed."))
        sharing.share(request.user, character, other, takes_along=False)
        say(request, _("Taken back."))
    return redirect("memories:scope", character.pk)


@require_POST
def share_undo(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take a share back, with what was copied."""
    character = owned(Character, request, pk=character_id)
    with explained(request):
        sharing.undo(request.user, character, _batch(request))
        say(request, _("Taken back."))
    return redirect("memories:scope", character.pk)


def name_of(chosen: MemoryScope) -> str:
    """What the page calls a choice."""
    if chosen.scope == MemoryScope.Scope.CHAT:
        return "chat"
    return "branches" if chosen.timeline == MemoryScope.Timeline.BRANCHES else "all"


def _other(request: PersonRequest, wanted: str) -> Character | None:
    """The character named there, 404 when it is somebody else's; None when none is named."""
    return owned(Character, request, pk=wanted) if is_uuid(wanted) else None


def _batch(request: HttpRequest) -> uuid.UUID | None:
    batch = request.GET.get("batch", "")
    return uuid.UUID(batch) if is_uuid(batch) else None


def _undo(name: str, character: Character, **query: str | UUID) -> str:
    return f"{reverse(name, args=[character.pk])}?{urlencode({key: str(value) for key, value in query.items()})}"
