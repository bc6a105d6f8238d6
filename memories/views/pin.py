"""Pin a memory: from a message of a chat, or from nothing."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import editing, pinning
from memories.memory_list import is_uuid
from memories.models import Revision
from memories.pinning import Whom
from memories.plain_text import bullets_of, plain_text
from memories.views.saying import back, explained, say
from sync.models import Character, Chat, Group, Message


@require_http_methods(["GET", "HEAD", "POST"])
def from_message(request: PersonRequest, chat_id: UUID, index: int) -> HttpResponse:
    """Keep something of one message; its words are there to begin with."""
    chat = owned(Chat, request, pk=chat_id)
    rows = Message.objects.for_user(request.user).select_related("chat__group", "chat__character__tavern")
    message = get_object_or_404(rows, chat=chat, index=index)
    chosen = pinning.whom(request.user, message)
    if request.method == "POST":
        return _pin(request, chosen, message)
    return _form(request, chosen, message, plain_text(message.text), chosen.chosen)


@require_http_methods(["GET", "HEAD", "POST"])
def from_nothing(request: PersonRequest) -> HttpResponse:
    """Keep something that stands in no message; with a group, one of its members is to be chosen."""
    wanted = request.GET.get("character", "")
    character = owned(Character, request, pk=wanted) if is_uuid(wanted) else None
    asked = request.GET.get("group", "")
    group = owned(Group, request, pk=asked) if is_uuid(asked) else None
    chosen = pinning.whom(request.user, wanted=character, group=group)
    if request.method == "POST":
        return _pin(request, chosen, None)
    return _form(request, chosen, None, "", chosen.chosen)


def _pin(request: PersonRequest, whom: Whom, message: Message | None) -> HttpResponse:
    wanted = set(request.POST.getlist("character"))
    characters = [one for one in (*whom.near, *whom.others) if str(one.pk) in wanted]
    typed = request.POST.get("text", "")
    lines = bullets_of(typed)
    try:
        made = pinning.pin(request.user, characters, lines, message)
    except ValueError as error:
        picked = {one.pk for one in characters}
        return _form(request, whom, message, typed, picked, error=str(error))
    names = ", ".join(one.name for one in characters)
    text = ngettext("Pinned for %(names)s.", "%(n)d memories pinned for %(names)s.", len(lines))
    say(request, text % {"n": len(lines), "names": names}, f"{reverse('memories:pin_undo')}?batch={made[0].batch}")
    if message is not None:
        return back(request, f"{reverse('memories:chat', args=[message.chat_id])}?at={message.index}#m{message.index}")
    return back(request, "memories:character", characters[0].pk)


def _form(
    request: PersonRequest,
    whom: Whom,
    message: Message | None,
    text: str,
    picked: set[uuid.UUID],
    error: str = "",
) -> HttpResponse:
    context: dict[str, Any] = {
        "whom": whom,
        "message": message,
        "text": text,
        "picked": picked,
        "error": error,
        "next": request.POST.get("next", ""),
        "is_nobody": message is not None and not picked,
        "is_far": any(one.pk in picked for one in whom.others),
    }
    return render(request, "memories/pin.html", context, status=422 if error else 200)


@require_POST
def undo(request: PersonRequest) -> HttpResponse:
    """Take back what one press of Pin did, in all files."""
    batch = request.GET.get("batch", "")
    rows = Revision.objects.for_user(request.user).select_related("file")
    first = rows.filter(batch=batch).first() if is_uuid(batch) else None
    if first is None:
        raise Http404(_("There is nothing to take back."))
    with explained(request):
        editing.undo_batch(request.user, uuid.UUID(batch))
        say(request, _("Taken back."))
    return back(request, "memories:character", first.file.character_id)
