"""One block: its own page, a new bullet, moving and deleting it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import editing, locking
from memories.character_frame import character_frame
from memories.forms import BlockForm, BulletForm
from memories.memory_list import Filters, cards
from memories.models import MemoryBlock, MemoryFile, Revision
from memories.scopes import own_file
from memories.views.saying import back, came_from, explained, say
from sync.models import Character


def undo_url(file: MemoryFile) -> str:
    """Where the toast's Undo goes: it takes back this very change, whatever an extraction adds meanwhile."""
    url = f"{reverse('memories:undo', args=[file.character_id])}?revision={file.version}"
    return f"{url}&file={file.pk}" if file.chat_id else url


def undo_save_url(file: MemoryFile, revision: Revision) -> str:
    """The same for a saved edit; what arrived in other files with it is taken back too."""
    if revision.batch is None:
        return undo_url(file)
    return f"{reverse('memories:undo', args=[file.character_id])}?batch={revision.batch}"


def held(request: PersonRequest, block_id: UUID) -> MemoryBlock:
    """The person's block with its file, or 404."""
    block = owned(MemoryBlock, request, pk=block_id)
    return MemoryBlock.objects.for_user(request.user).select_related("file__character__tavern", "chat").get(pk=block.pk)


@require_safe
def page(request: PersonRequest, block_id: UUID) -> HttpResponse:
    """The block with everything that can be done to it; a drawer on the character's page, a page without JavaScript."""
    block = held(request, block_id)
    card = cards(request.user, [block.pk], Filters())[0]
    context = {"back": came_from(request, f"b{block_id}"), "card": card, "character": block.file.character}
    return render(request, "memories/_block_drawer.html" if request.htmx else "memories/block.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: PersonRequest, block_id: UUID) -> HttpResponse:
    """Write one more bullet into a block."""
    block = held(request, block_id)
    form = BulletForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with explained(request):
            editing.add_memory(request.user, block, form.cleaned_data["text"])
            say(request, _("Added."), undo_url(block.file))
        return back(request, "memories:character", block.file.character_id)
    context = {
        "back": request.POST.get("next") or came_from(request, f"b{block_id}"),
        "form": form,
        "character": block.file.character,
        "for_block": block,
    }
    return render(request, "memories/_bullet_form.html" if request.htmx else "memories/bullet_form.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def write(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Write a new block by hand."""
    character = owned(Character, request, pk=character_id)
    form = BlockForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with explained(request):
            file = own_file(character)
            editing.add_block(request.user, file, _("written by hand"), form.lines(character.name))
            say(request, _("Written down."), undo_url(file))
        return redirect("memories:character", character_id)
    context = {
        "form": form,
        "character": character,
        "hero": character_frame(request.user, character),
        "tab": "memories",
    }
    return render(request, "memories/write_block.html", context)


@require_POST
def delete(request: PersonRequest, block_id: UUID) -> HttpResponse:
    """Delete a block; the toast takes it back."""
    block = held(request, block_id)
    with explained(request):
        editing.delete_block(request.user, block)
        say(request, _("Block deleted."), undo_url(block.file))
    return back(request, "memories:character", block.file.character_id)


@require_POST
def lock(request: PersonRequest, block_id: UUID) -> HttpResponse:
    """Lock or unlock (`to`) a block with all its memories."""
    block = held(request, block_id)
    is_locked = request.POST.get("to") != "unlock"
    with explained(request):
        if locking.lock_block(request.user, block, is_locked=is_locked):
            text = _("Locked: nothing replaces it now.") if is_locked else _("Unlocked.")
            say(request, text, undo_url(block.file))
    return back(request, "memories:character", block.file.character_id)


@require_POST
def move(request: PersonRequest, block_id: UUID) -> HttpResponse:
    """Move a block one place up or down (newest is up)."""
    block = held(request, block_id)
    with explained(request):
        editing.move_block(request.user, block, -1 if request.POST.get("to") == "up" else 1)
    return back(request, "memories:character", block.file.character_id)
