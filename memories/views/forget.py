"""Forget a chat: numbers first, then for good; and read it again."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import forgetting
from memories.views.reader_place import rail_place, reader_url
from memories.views.saying import explained, say
from sync.models import Chat


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """What would be erased, in numbers; POST erases it."""
    owned(Chat, request, pk=chat_id)
    chat = Chat.objects.for_user(request.user).select_related("character", "group", "tavern").get(pk=chat_id)
    if request.method == "POST":
        with explained(request):
            job = forgetting.forget(request.user, chat, with_memories="memories" in request.POST)
            said = _("The chat is being forgotten. This goes on by itself.") if job else _("The chat is forgotten.")
            say(request, said)
        return redirect("memories:chat", chat.pk)
    context = {
        "chat": chat,
        "character": chat.character,
        "extent": forgetting.extent(request.user, chat),
        "back": reader_url(request, chat),
        "rail_place": rail_place(chat),
    }
    return render(request, "memories/forget.html", context)


@require_POST
def read_again(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Take the file of a forgotten chat up again."""
    chat = owned(Chat, request, pk=chat_id)
    forgetting.read_again(request.user, chat)
    say(request, _("CharMem reads this chat again within a few seconds."))
    return redirect("memories:chat", chat.pk)
