"""Moving the line up to which a chat is read, reading up to it, and asking for what was read to be read again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import chat_points
from memories.character_frame import character_frame
from memories.chat_points import Wish
from memories.queries import reading_of
from memories.reading_start import start_reading
from memories.reset_cost import cost_of_reading
from memories.views.reader_place import number_in, rail_place, reader_in, reader_url
from memories.views.saying import back, explained, say
from sync.models import Character, Chat


@require_POST
def extract_to(request: PersonRequest, chat_id: UUID, index: int) -> HttpResponse:
    """Read everything unread up to one message."""
    chat = owned(Chat, request, pk=chat_id)
    reader = reader_in(request, chat)
    with explained(request):
        start_reading(request.user, chat, reader.character if reader else None, (None, index))
        say(request, _("Reading up to #%(n)d. Memories appear here as they are made.") % {"n": index})
    return redirect(reader_url(request, chat, index))


@require_http_methods(["GET", "HEAD", "POST"])
def set_point(request: PersonRequest, chat_id: UUID, index: int) -> HttpResponse:
    """What moving the line behind a message would change, then do it. `index` may be one above the first: "start"."""
    chat = owned(Chat, request, pk=chat_id)
    character = _reader(request, chat)
    index = min(index, max(0, chat.message_count - 1))
    place = -1 if "before" in request.GET or "before" in request.POST else index
    if request.method == "POST":
        return _move(request, chat, character, place)
    effect = chat_points.effect_of(reading_of(request.user, chat, character), place)
    ranges = {str(chat.pk): [place + 1, None]}
    cost = cost_of_reading(request.user, character=character, chats=[chat], ranges=ranges, again=True)
    context = {
        "chat": chat,
        "character": character,
        "index": index,
        "place": place,
        "effect": effect,
        "cost": cost,
        "keep": _kept(request),
        "back": reader_url(request, chat, index),
        "rail_place": rail_place(chat),
    }
    template = "memories/_point.html" if request.htmx else "memories/point.html"
    return render(request, template, context)


def _move(request: PersonRequest, chat: Chat, character: Character, place: int) -> HttpResponse:
    with explained(request):
        wish = chat_points.set_point(request.user, chat, character, place)
        if wish.is_empty:
            say(request, _("The line stands there already."))
        else:
            text = _("Everything up to #%(n)d counts as read now.") if place >= 0 else _("Nothing counts as read now.")
            say(request, text % {"n": place}, undo_of_chat(chat, character, wish))
    return redirect(reader_url(request, chat, max(0, place), whose=request.POST.get("whose", "")))


@require_http_methods(["GET", "HEAD", "POST"])
def reset_chat(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Have a chat read again, or count all of it as read; first what either would mean in numbers."""
    chat = owned(Chat, request, pk=chat_id)
    character = _reader(request, chat)
    if request.method == "POST":
        with explained(request):
            _reset(request, [chat], character, lambda wish: undo_of_chat(chat, character, wish))
        return back(request, reader_url(request, chat, whose=request.POST.get("whose", "")))
    reading = reading_of(request.user, chat, character)
    context = _numbers(request, [chat], character) | {
        "chat": chat,
        "unread": reading.waiting,
        "read": sum(reading.speaks) - reading.waiting,
        "back": reader_url(request, chat),
        "rail_place": rail_place(chat),
    }
    return render(request, "memories/reset_chat.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def reset_character(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The same for everything that was read for a character, in its own chats and in groups."""
    character = owned(Character, request, pk=character_id)
    chats = chat_points.chats_with_reading(request.user, character)
    if request.method == "POST":
        with explained(request):
            _reset(request, chats, character, lambda wish: _undo_of_character(character, wish))
        return redirect("memories:chats", character.pk)
    begins = chat_points.begins_of(chats)
    readings = ((chat, reading_of(request.user, chat, character)) for chat in chats)
    rows = [(chat, *chat_points.read_of(reading, begins[chat.pk])) for chat, reading in readings]
    context = _numbers(request, chats, character) | {
        "hero": character_frame(request.user, character),
        "tab": "chats",
        "rows": rows,
        "unread": sum(unread for _chat, _read, unread in rows),
        "read": sum(read for _chat, read, _unread in rows),
        "back": reverse("memories:chats", args=[character.pk]),
    }
    return render(request, "memories/reset_character.html", context)


def _reset(request: PersonRequest, chats: list[Chat], character: Character, undo: Any) -> None:
    """`do` says which: read is "count as read", anything else "read again"."""
    if request.POST.get("do") == "read":
        wish = chat_points.mark_read(request.user, chats, character)
        say(request, _("Counted as read. Only what comes next will be remembered."), undo(wish))
        return
    wish = chat_points.reset(request.user, chats, character)
    if wish.is_empty:
        say(request, _("Nothing of it was read, so nothing changed."))
        return
    text = ngettext(
        "%(n)d message is unread again. All memories stay.",
        "%(n)d messages are unread again. All memories stay.",
        wish.messages,
    )
    say(request, text % {"n": wish.messages}, undo(wish))


def _numbers(request: PersonRequest, chats: list[Chat], character: Character) -> dict[str, Any]:
    """What reading all of it again would cost."""
    cost = cost_of_reading(request.user, character=character, chats=chats, again=True)
    return {"character": character, "cost": cost, "whose": request.GET.get("whose", "")}


@require_POST
def undo_point(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Take back what was last wished for one chat."""
    chat = owned(Chat, request, pk=chat_id)
    character = _reader(request, chat)
    _take_back(request, character)
    return back(request, reader_url(request, chat))


@require_POST
def undo_reset(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take back what was last wished for all chats of a character."""
    character = owned(Character, request, pk=character_id)
    _take_back(request, character)
    return back(request, "memories:chats", character.pk)


def _take_back(request: PersonRequest, character: Character) -> None:
    after, to = number_in(request.GET, "after"), number_in(request.GET, "to")
    with explained(request):
        if after is None or to is None:
            raise ValueError(_("There is nothing to undo."))
        chat_points.take_back(request.user, character, Wish(after, to))
        say(request, _("Undone. It is read as far as before."))


def undo_of_chat(chat: Chat, character: Character, wish: Wish) -> str:
    """The address that takes a wish about one chat back; "" when it changed nothing."""
    if wish.is_empty:
        return ""
    return f"{reverse('memories:undo_point', args=[chat.pk])}?whose={character.pk}&{wish.words}"


def _undo_of_character(character: Character, wish: Wish) -> str:
    return "" if wish.is_empty else f"{reverse('memories:undo_reset', args=[character.pk])}?{wish.words}"


def _reader(request: PersonRequest, chat: Chat) -> Character:
    reader = reader_in(request, chat)
    if reader is None:
        raise Http404(_("Nobody remembers this chat."))
    return reader.character


def _kept(request: PersonRequest) -> str:
    return request.GET.get("whose", "")
