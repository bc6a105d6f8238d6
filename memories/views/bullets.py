"""One memory: where it came from, editing in place, moving and deleting."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import editing, locking
from memories.evidence_page import evidence
from memories.forms import BulletForm
from memories.models import Memory
from memories.views.blocks import undo_url
from memories.views.saying import back, came_from, explained, say


def held(request: PersonRequest, memory_id: UUID) -> Memory:
    """The person's memory with its block, file and origin, or 404."""
    memory = owned(Memory, request, pk=memory_id)
    related = ("block__file__character__tavern", "block__chat", "block__job", "block__call")
    return Memory.objects.for_user(request.user).select_related(*related).get(pk=memory.pk)


def _refresh(request: PersonRequest, memory: Memory) -> HttpResponse:
    return back(request, "memories:character", memory.block.file.character_id)


@require_safe
def page(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Evidence: a drawer beside the memories, a page of its own without JavaScript."""
    memory = held(request, memory_id)
    context = {
        "back": came_from(request, f"m{memory_id}"),
        "evidence": evidence(request.user, memory),
        "memory": memory,
        "character": memory.block.file.character,
    }
    return render(request, "memories/_evidence.html" if request.htmx else "memories/evidence.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Change the wording; in place inside the card, or on a page. `seen` is the wording that was on the screen."""
    memory = held(request, memory_id)
    form = BulletForm(request.POST or None, initial={"text": memory.text})
    if request.POST.get("seen", memory.text) != memory.text:
        sentence = _("Meanwhile this memory was changed to “%(text)s”. Save again to put your wording in its place.")
        form.add_error("text", sentence % {"text": memory.text})
    if request.method == "POST" and form.is_valid():
        return _save(request, memory, form)
    context = {
        "back": request.POST.get("next") or came_from(request, f"m{memory_id}"),
        "form": form,
        "memory": memory,
        "character": memory.block.file.character,
    }
    status = 422 if request.method == "POST" else 200
    template = "memories/_bullet_form.html" if request.htmx else "memories/bullet_form.html"
    return render(request, template, context, status=status)


def _save(request: PersonRequest, memory: Memory, form: BulletForm) -> HttpResponse:
    with explained(request):
        editing.edit_memory(request.user, memory, form.cleaned_data["text"])
        say(request, _("Saved."), undo_url(memory.block.file))
    return _refresh(request, memory)


@require_POST
def delete(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Delete a memory; the toast takes it back."""
    memory = held(request, memory_id)
    with explained(request):
        editing.delete_memory(request.user, memory)
        say(request, _("Memory deleted."), undo_url(memory.block.file))
    return _refresh(request, memory)


@require_POST
def lock(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Lock or unlock (`to`) a memory."""
    memory = held(request, memory_id)
    is_locked = request.POST.get("to") != "unlock"
    with explained(request):
        if locking.lock_memory(request.user, memory, is_locked=is_locked):
            text = _("Locked: nothing replaces it now.") if is_locked else _("Unlocked.")
            say(request, text, undo_url(memory.block.file))
    return _refresh(request, memory)


@require_POST
def move(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Move a memory one place up or down in its block, or before another one of the same block (`before`)."""
    memory = held(request, memory_id)
    rows = list(memory.block.memories.order_by("order", "created_at"))
    topics = [row.pk for row in rows if row.is_topic]
    order = [row.pk for row in rows if not row.is_topic]
    position = len(topics) + new_place(order, memory.pk, request.POST)
    with explained(request):
        editing.move_memory(request.user, memory, memory.block, position)
    return _refresh(request, memory)


def new_place(order: list[UUID], pk: UUID, wish: QueryDict) -> int:
    """Where `pk` shall stand: `to` is up or down, or `before` names the memory that shall follow it ("" = the end)."""
    rest = [str(other) for other in order if other != pk]
    if "before" in wish:
        return rest.index(wish["before"]) if wish["before"] in rest else len(rest)
    at = order.index(pk)
    return max(0, at - 1) if wish.get("to") == "up" else min(len(rest), at + 1)
