"""Beside the chat reader: what was injected for a message, and the family of a chat's branches."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from memories.chat_family import family_map
from memories.chat_injected import records_of
from memories.chat_readers import readers_of
from memories.views.reader_place import rail_place, reader_url
from sync.models import Chat, Message


@require_safe
def injected(request: PersonRequest, chat_id: UUID, index: int) -> HttpResponse:
    """What was recorded as put into the prompt for one message, and by whom."""
    chat = owned(Chat, request, pk=chat_id)
    message = get_object_or_404(Message.objects.for_user(request.user), chat=chat, index=index)
    context = {
        "chat": chat,
        "message": message,
        "records": records_of(request.user, chat, message),
        "back": reader_url(request, chat, index),
        "rail_place": rail_place(chat),
    }
    template = "memories/_chat_injected.html" if request.htmx else "memories/chat_injected.html"
    return render(request, template, context)


@require_safe
def branches(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Where the branches of a chat leave it, what they inherit, and how far each is read."""
    owned(Chat, request, pk=chat_id)
    chat = Chat.objects.for_user(request.user).select_related("character", "group", "parent", "tavern").get(pk=chat_id)
    whose = request.GET.get("whose", "")
    context = {
        "chat": chat,
        "family": family_map(request.user, chat, whose),
        "readers": readers_of(request.user, chat, whose),
        "back": reader_url(request, chat),
        "rail_place": rail_place(chat),
    }
    return render(request, "memories/branches.html", context)
