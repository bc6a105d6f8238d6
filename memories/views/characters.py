"""The grid of characters and one character's memories."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import editing, locking, outside_text
from memories.character_frame import CharacterFrame, character_frame
from memories.character_list import arrange, filter_choices, sort_choices
from memories.chosen import settings_of
from memories.extraction import start_extraction
from memories.file_names import auto_file_name
from memories.forms import FileForm
from memories.memory_file import file_for
from memories.memory_list import block_ids, cards, facets, file_of, files_of, is_uuid, pages_of, queues, read_filters
from memories.models import MemoryFile
from memories.page_queries import price_of, tiles, total_unread
from memories.views.files import named_file
from memories.views.polled import polled
from memories.views.saying import explained, say
from sync.models import Character, Chat, Tavern

TILES_A_PAGE = 120


@require_safe
def grid(request: PersonRequest) -> HttpResponse:
    """All characters with portrait, counts and one word about health."""
    everything = tiles(request.user)
    sort, show = request.GET.get("sort", ""), request.GET.get("show", "")
    shown = arrange(everything, sort, show, request.GET.get("q", "").strip())
    waiting = [tile for tile in everything if tile.unread.messages]
    unread = total_unread(tile.unread for tile in waiting)
    context = {
        "page": Paginator(shown, TILES_A_PAGE).get_page(request.GET.get("page")),
        "everything": everything,
        "memories": sum(tile.memories for tile in everything),
        "remembering": sum(1 for tile in everything if tile.memories),
        "attention": sum(1 for tile in everything if tile.needs_attention),
        "filters": filter_choices(everything, show),
        "sorts": sort_choices(sort),
        "waiting": waiting,
        "unread": unread,
        "price": price_of(request.user, unread),
        "has_tavern": Tavern.objects.for_user(request.user).filter(unlinked_at=None).exists(),
        "is_choosing": "choose" in request.GET,
        "interval": settings_of(request.user).interval,
    }
    return render(request, "memories/characters.html", context)


@require_POST
def extract_chosen(request: PersonRequest) -> HttpResponse:
    """Start one extraction for each chosen character that has something to read."""
    chosen = {str(pk) for pk in request.POST.getlist("character")}
    started = 0
    for tile in tiles(request.user):
        if tile.unread.messages and (str(tile.character.pk) in chosen or "all" in request.POST):
            with explained(request):
                start_extraction(request.user, character=tile.character)
                started += 1
    if started:
        text = ngettext("Reading %(n)s character.", "Reading %(n)s characters.", started) % {"n": started}
        messages.success(request, text)
    else:
        messages.info(request, _("Nothing waits to be read there. Nothing was started."))
    return redirect("memories:characters")


def _memories_tab(request: PersonRequest, character: Character) -> dict[str, Any]:
    filters = read_filters(request.GET)
    hero = character_frame(request.user, character)
    pages = pages_of(block_ids(request.user, character, filters, hero.outlines))
    pager = Paginator(pages, 1).get_page(request.GET.get("page"))
    ids = pager.object_list[0] if pager.object_list else []
    return {
        "hero": hero,
        "tab": "memories",
        "filters": filters,
        "files": hero.files if len(hero.files) > 1 else [],
        "shown_file": named_file(request, character) if filters.file else None,
        "facets": facets(request.user, character, filters, hero.outlines),
        "queues": queues(request.user, character),
        "cards": cards(request.user, ids, filters),
        "page": pager,
    }


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """One character: the stats bar, what waits, and the memories newest first."""
    character = owned(Character, request, pk=character_id)
    context = _memories_tab(request, character)
    template = "memories/_cards.html" if request.htmx.target == "cards" else "memories/character.html"
    return render(request, template, context)


@require_safe
def live(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The stats bar, and the cards while an extraction adds to them."""
    character = owned(Character, request, pk=character_id)
    hero: CharacterFrame = character_frame(request.user, character)
    seen = request.GET.get("version", "")
    context: dict[str, Any] = {"hero": hero, "swap": True}
    if request.GET.get("tab") == "memories" and seen != str(hero.version):
        context = {**_memories_tab(request, character), "swap": True, "with_cards": True}
    return polled(request, "memories/character_live.html", context)


@require_POST
def extract(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Read everything of this character that was not read yet, or the chosen chats."""
    character = owned(Character, request, pk=character_id)
    chosen = request.POST.getlist("chat")
    chats: list[Chat | None] = [owned(Chat, request, pk=pk, character=character) for pk in chosen if is_uuid(pk)]
    with explained(request):
        for chat in chats or [None]:
            start_extraction(request.user, character=character, chat=chat)
    return redirect("memories:character", character.pk)


@require_POST
def undo(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take back the last change of a memory file, the one that `revision` names, or all of a `batch`."""
    character = owned(Character, request, pk=character_id)
    number, batch = request.GET.get("revision", ""), request.GET.get("batch", "")
    if is_uuid(batch):
        with explained(request):
            editing.undo_batch(request.user, UUID(batch))
            say(request, _("Taken back."))
        return redirect("memories:character", character.pk)
    file = named_file(request, character)
    if file is None:
        raise Http404(_("There is no such page."))
    with explained(request):
        editing.undo(request.user, file, int(number) if number.isdecimal() and len(number) < 10 else None)
        say(request, _("Taken back."))
    return redirect("memories:character", character.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The name of one character's memory file, and the way to its layout."""
    character = owned(Character, request, pk=character_id)
    file = file_of(request.user, character) or MemoryFile(name=auto_file_name(character.name))
    form = FileForm(request.POST or None, instance=file)
    if request.method == "POST" and form.is_valid():
        with explained(request):
            _settle(character, form)
            messages.success(request, _("Saved. The file in SillyTavern follows within seconds."))
        return redirect("memories:character_settings", character_id)
    hero = character_frame(request.user, character)
    files = files_of(request.user, character)
    locks = [(one, locking.count_locked(request.user, one)) for one in files or [file]]
    context = {"hero": hero, "tab": "settings", "form": form, "file": file, "files": files, "locks": locks}
    return render(request, "memories/character_settings.html", context)


def _settle(character: Character, form: FileForm) -> None:
    """A new name; address and index stay."""
    file = file_for(character)
    if form.cleaned_data["name"] != file.name:
        outside_text.rename(file, form.cleaned_data["name"])
