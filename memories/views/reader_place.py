"""Where in a chat a person stands, and the address of another place in it."""

from __future__ import annotations

from django.http import QueryDict
from django.urls import reverse

from accounts.access import PersonRequest
from memories.chat_readers import Reader, readers_of
from sync.models import Chat

LONGEST = 8  # digits of a message number


def number_in(query: QueryDict, name: str) -> int | None:
    """A message number as somebody may type it ("250", "#250"); None for anything else."""
    text = query.get(name, "").strip().lstrip("#")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST else None


def reader_url(request: PersonRequest, chat: Chat, at: int | None = None, *, whose: str = "") -> str:
    """The reader at a message, for the same member of a group."""
    query = QueryDict(mutable=True)
    if at is not None:
        query["at"] = str(at)
    if chat.group_id and (wanted := whose or request.GET.get("whose", "")):
        query["whose"] = wanted
    if text := request.GET.get("find", ""):
        query["find"] = text
    words = f"?{query.urlencode()}" if query else ""
    mark = "" if at is None else f"#m{at}"
    return f"{reverse('memories:chat', args=[chat.pk])}{words}{mark}"


def rail_place(chat: Chat) -> str:
    """Where the rail places a page about this chat: under Groups for a group's, else where its path says."""
    return "memories:groups" if chat.group_id else ""


def reader_in(request: PersonRequest, chat: Chat) -> Reader | None:
    """For whom a form or an address reads the chat: the member that `whose` names, else the one furthest behind."""
    whose = request.POST.get("whose") or request.GET.get("whose", "")
    return readers_of(request.user, chat, whose).chosen
