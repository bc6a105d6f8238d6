"""Locking everything that a memory file holds; single memories and blocks are locked where they are shown."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest, owned
from memories import locking
from memories.views.blocks import undo_url
from memories.views.files import named_file
from memories.views.saying import explained, say
from sync.models import Character


@require_POST
def lock_all(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Lock or unlock (`to`) everything that a memory file of this character holds."""
    character = owned(Character, request, pk=character_id)
    file = named_file(request, character)
    if file is None:
        raise Http404(_("There is no such page."))
    is_locked = request.POST.get("to") != "unlock"
    with explained(request):
        if locking.lock_file(request.user, file, is_locked=is_locked):
            text = _("Locked: nothing replaces what is here now.") if is_locked else _("Unlocked.")
            say(request, text, undo_url(file))
        else:
            say(request, _("It was so already. Nothing was changed."))
    return redirect("memories:character_settings", character_id)
