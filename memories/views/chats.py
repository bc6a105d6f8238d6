"""The chats of a character, and the chat reader."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import watermark
from memories.character_frame import character_frame
from memories.chat_page import hidden_count, tree, watermark_of, window
from memories.evidence_page import quotes_to_mark
from memories.extraction import start_extraction
from memories.models import Memory, MemoryBlock
from memories.page_queries import price_of
from memories.queries import extraction_settings
from memories.unread import Unread, unread_by_chat
from memories.views.saying import explained, say
from sync.models import Character, Chat

CHATS_A_PAGE = 100


def _memory_counts(request: PersonRequest, character: Character) -> dict[Any, int]:
    rows = MemoryBlock.objects.for_user(request.user).filter(chat__character=character).order_by().values("chat")
    return {row["chat"]: row["n"] for row in rows.annotate(n=Count("memories", filter=Q(memories__is_topic=False)))}


@require_safe
def of_character(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """All chats of one character, branches below the chat they left, with what is read."""
    character = owned(Character, request, pk=character_id)
    text = request.GET.get("q", "").strip()
    rows = Chat.objects.for_user(request.user).filter(character=character).order_by("-last_at", "name")
    unread = unread_by_chat(request.user, character)
    everything = tree(
        list(rows.filter(name__icontains=text) if text else rows),
        {pk: part.messages for pk, part in unread.items()},
        _memory_counts(request, character),
    )
    context = {
        "hero": character_frame(request.user, character),
        "tab": "chats",
        "rows": everything,
        "page": Paginator(everything, CHATS_A_PAGE).get_page(request.GET.get("page")),
        "unread_chats": sum(1 for row in everything if row.unread),
        "text": text,
    }
    return render(request, "memories/chats.html", context)


@require_safe
def page(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """The reader: one hundred messages at a time, from where the unread part begins."""
    owned(Chat, request, pk=chat_id)
    if request.GET.get("goto", "").strip().lstrip("#").isdecimal():
        number = request.GET["goto"].strip().lstrip("#")[:8]
        return redirect(f"{request.path}?at={number}#m{number}")
    chat = Chat.objects.for_user(request.user).select_related("character__tavern", "group", "parent").get(pk=chat_id)
    mark = watermark_of(request.user, chat)
    read_to = mark.index if mark else -1
    at = request.GET.get("at", "").strip().lstrip("#")
    quotes = _quotes(request, chat)
    shown = window(request.user, chat, int(at) if at.isdecimal() and len(at) < 9 else None, read_to, quotes)
    parts = unread_by_chat(request.user, chat.character) if chat.character else {}
    unread = parts.get(chat.pk, Unread())
    context = {
        "chat": chat,
        "character": chat.character,
        "mark": mark,
        "read_to": read_to,
        "window": shown,
        "at": at,
        "unread": unread.messages,
        "hidden": hidden_count(request.user, chat),
        "memories": Memory.objects.for_user(request.user).filter(block__chat=chat, is_topic=False).count(),
        "price": price_of(request.user, unread),
        "interval": extraction_settings(request.user).interval,
    }
    return render(request, "memories/chat.html", context)


def _quotes(request: PersonRequest, chat: Chat) -> dict[str, str]:
    """The passages that the memory named by `mark` came from."""
    try:
        memory = UUID(request.GET.get("mark", ""))
    except ValueError:
        return {}
    return quotes_to_mark(request.user, memory, chat.pk)


@require_POST
def extract(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Read the rest of one chat."""
    chat = owned(Chat, request, pk=chat_id)
    if chat.character is not None:
        with explained(request):
            start_extraction(request.user, character=chat.character, chat=chat)
    return redirect("memories:chat", chat.pk)


@require_POST
def mark_read(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Count a chat as read up to its end without asking a model: only what comes next is remembered."""
    chat = owned(Chat, request, pk=chat_id)
    if chat.character is not None:
        with explained(request):
            watermark.mark_read(request.user, chat, chat.character, chat.message_count)
            say(request, _("Counted as read. Only what comes next will be remembered."))
    return redirect("memories:chat", chat.pk)
