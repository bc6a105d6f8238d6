"""The chats of a character, and the chat reader."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, Max, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import chat_find, chat_points
from memories.character_frame import character_frame
from memories.chat_page import ChatRow, Progress, hidden_count, map_of, progress_of, tree, window
from memories.chat_readers import Readers, readers_of
from memories.evidence_page import quotes_to_mark
from memories.models import ExtractedChunk, Memory, MemoryBlock
from memories.reading_start import start_reading
from memories.reset_cost import cost_of_reading
from memories.scope_words import of_chat
from memories.scopes import files_in_use
from memories.unread import unread_by_chat
from memories.views.points import undo_of_chat
from memories.views.reader_place import number_in, rail_place, reader_in, reader_url
from memories.views.saying import explained, say
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, Message

CHATS_A_PAGE = 100


def _memory_counts(request: PersonRequest, character: Character) -> dict[Any, int]:
    rows = MemoryBlock.objects.for_user(request.user).filter(chat__character=character)
    told = rows.filter(Q(file__chat=None) | Q(file__chat=F("chat")))  # copies in the files of branches do not count
    counts = told.order_by().values("chat")
    return {row["chat"]: row["n"] for row in counts.annotate(n=Count("memories", filter=Q(memories__is_topic=False)))}


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
    page = Paginator(everything, CHATS_A_PAGE).get_page(request.GET.get("page"))
    _complete(request, character, list(page))
    context = {
        "hero": character_frame(request.user, character),
        "tab": "chats",
        "rows": everything,
        "page": page,
        "unread_chats": sum(1 for row in everything if row.unread),
        "text": text,
        "own": {file.chat_id for file in files_in_use(request.user, character) if file.chat_id},
    }
    return render(request, "memories/chats.html", context)


def _complete(request: PersonRequest, character: Character, rows: list[ChatRow]) -> None:
    """What only the rows on the page need: hidden messages, and when each chat was read last."""
    pks = [row.chat.pk for row in rows]
    hidden = Message.objects.for_user(request.user).filter(chat__in=pks, is_hidden=True).order_by().values_list("chat")
    counts = dict(hidden.annotate(n=Count("pk")))
    chunks = ExtractedChunk.objects.for_user(request.user).filter(chat__in=pks, character=character)
    read = dict(chunks.exclude(outcome="reopened").order_by().values_list("chat").annotate(at=Max("created_at")))
    for row in rows:
        row.hidden, row.read_at = counts.get(row.chat.pk, 0), read.get(row.chat.pk)


@require_safe
def page(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """The reader: one hundred messages at a time, from where the unread part begins."""
    owned(Chat, request, pk=chat_id)
    chat = Chat.objects.for_user(request.user).select_related("character__tavern", "group", "parent").get(pk=chat_id)
    if (elsewhere := _jump(request, chat)) is not None:
        return elsewhere
    readers = readers_of(request.user, chat, request.GET.get("whose", ""))
    character = readers.chosen.character if readers.chosen else None
    progress = progress_of(request.user, chat, character)
    found = chat_find.find(request.user, chat, request.GET.get("find", ""), number_in(request.GET, "at"))
    at = number_in(request.GET, "at") if found.at is None else found.at
    shown = window(request.user, progress, at, _quotes(request, chat))
    for line in shown.lines:
        line.face, line.find = readers.face(line.message), found.text
    context = {
        "chat": chat,
        "character": character,
        "readers": readers,
        "read_to": progress.read_to,
        "window": shown,
        "at": "" if at is None else str(at),
        "hits": set(found.hits),
        "found": found,
        "keep": _kept(request, readers),
        "rail_place": rail_place(chat),
    }
    if "part" in request.GET:
        return render(request, "memories/_chat_items.html", context)
    context |= _whole(request, chat, readers, progress)
    return render(request, "memories/chat.html", context)


def _whole(request: PersonRequest, chat: Chat, readers: Readers, progress: Progress) -> dict[str, Any]:
    """What stands around the messages."""
    unread = progress.unread
    at = number_in(request.GET, "at")
    made = Memory.objects.for_user(request.user).filter(block__chat=chat, is_topic=False)
    if chat.group_id and progress.character is not None:
        made = made.filter(block__file__character=progress.character)
    return {
        "unread": len(unread),
        "unread_around": chat_find.around(unread, at, at) if at is not None else (None, next(iter(unread), None)),
        "since": sum(number > progress.read_to for number in unread),
        "map": map_of(request.user, progress),
        "hidden": hidden_count(request.user, chat),
        "memories": made.count(),
        **_prices(request, chat, progress),
        "own_file": of_chat(request.user, progress.character, chat) if progress.character else None,
        "has_family": bool(chat.parent_id) or chat.branches.exists(),
    }


def _prices(request: PersonRequest, chat: Chat, progress: Progress) -> dict[str, Any]:
    """What reading the rest would cost: for the chosen reader, and in a group for all members."""
    user, character, group = request.user, progress.character, chat.group
    found: dict[str, Any] = {"price": None, "price_all": None, "connection": connection_for(user, EXTRACTION)}
    if character is not None and progress.unread:
        found["price"] = cost_of_reading(user, character=character, chats=[chat]).price
    if group is not None:
        found["price_all"] = cost_of_reading(user, group=group, chats=[chat]).price
    return found


def _kept(request: PersonRequest, readers: Readers) -> str:
    """What links inside the page carry along: the reader and the search, as the end of a query."""
    query = request.GET.copy()
    for name in list(query):
        if name not in ("whose", "find") or not query[name]:
            del query[name]
    if "whose" in query and (readers.chosen is None or str(readers.chosen.character.pk) != query["whose"]):
        del query["whose"]
    return f"&{query.urlencode()}" if query else ""


def _jump(request: PersonRequest, chat: Chat) -> HttpResponse | None:
    """To a number or a day that was typed."""
    number = number_in(request.GET, "goto")
    if number is None and (day := request.GET.get("date", "")):
        number = _number_of(request, chat, day)
    return None if number is None else redirect(reader_url(request, chat, number))


def _number_of(request: PersonRequest, chat: Chat, day: str) -> int | None:
    try:
        wanted = date.fromisoformat(day)
        found = chat_find.first_on(request.user, chat, wanted)
    except (ValueError, OverflowError):
        messages.info(request, _("That is not a day. Write it as 2026-03-14."))
        return None
    if found is None:
        messages.info(request, _("Nothing was said on that day or later. This is the end of the chat."))
        return max(0, chat.message_count - 1)
    return found


def _quotes(request: PersonRequest, chat: Chat) -> dict[str, str]:
    """The passages that the memory named by `mark` came from."""
    try:
        memory = UUID(request.GET.get("mark", ""))
    except ValueError:
        return {}
    return quotes_to_mark(request.user, memory, chat.pk)


@require_POST
def extract(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Read the rest of one chat: for its character; in a group for all members, or for the one that `whose` names."""
    chat = owned(Chat, request, pk=chat_id)
    whose = request.POST.get("whose", "")
    reader = reader_in(request, chat) if whose else None
    with explained(request):
        start_reading(request.user, chat, reader.character if reader else None)
    return redirect(reader_url(request, chat, whose=whose))


@require_POST
def mark_read(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Count a chat as read up to its end without asking a model: only what comes next is remembered."""
    chat = owned(Chat, request, pk=chat_id)
    reader = reader_in(request, chat)
    with explained(request):
        if reader is not None:
            wish = chat_points.mark_read(request.user, [chat], reader.character)
            undo = undo_of_chat(chat, reader.character, wish)
            say(request, _("Counted as read. Only what comes next will be remembered."), undo)
    return redirect(reader_url(request, chat, whose=request.POST.get("whose", "")))
