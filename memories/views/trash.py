"""What was deleted lately, and the way to delete everything: whole-file operations show their numbers first."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from accounts.models import User
from memories import memory_file, trash, trash_items
from memories.character_frame import character_frame
from memories.memory_filters import FLAGS
from memories.models import Memory, MemoryFile, Revision, TrashItem, Watermark
from memories.reset_cost import cost_of_reading
from memories.views.blocks import undo_save_url, undo_url
from memories.views.saying import explained, say
from memories.watermark import read_again, reading_of
from sync.models import Character, Chat


@dataclass(frozen=True)
class Clearing:
    """One file as the page that empties it shows it."""

    file: MemoryFile
    memories: int
    blocks: int
    locked: int


@require_safe
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Blocks and files that were deleted in the last 30 days."""
    character = owned(Character, request, pk=character_id)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "history",
        "items": trash.items(request.user).filter(file__character=character),
        "days": trash.KEPT.days,
    }
    return render(request, "memories/trash.html", context)


@require_POST
def put_back(request: PersonRequest, item_id: UUID) -> HttpResponse:
    """Bring one item back to its file."""
    item = owned(TrashItem, request, pk=item_id)
    with explained(request):
        made = trash.put_back(request.user, item)
        if made is None:
            messages.info(request, _("All of it is there already."))
        else:
            say(request, _("Put back: %(title)s") % {"title": item.title}, undo_url(item.file))
    return redirect("memories:trash", item.file.character_id)


@require_http_methods(["GET", "HEAD", "POST"])
def clear(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take all memories away after showing how many there are; `again` also has every chat read anew (Reset)."""
    character = owned(Character, request, pk=character_id)
    files = _files(request.user, character)
    if request.method == "POST":
        _clear(request, character, files)
        return redirect("memories:character", character.pk)
    begun = Chat.objects.for_user(request.user).filter(watermarks__character=character)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "history",
        "files": files,
        "memories": sum(one.memories for one in files),
        "blocks": sum(one.blocks for one in files),
        "days": trash.KEPT.days,
        "chats": begun.count(),
        "again": cost_of_reading(request.user, character=character, chats=list(begun), again=True),
    }
    return render(request, "memories/clear.html", context)


def _files(user: User, character: Character) -> list[Clearing]:
    """The character's files that hold something."""
    rows = Memory.objects.for_user(user).filter(block__file__character=character, is_topic=False).order_by()
    counts = rows.values("block__file").annotate(
        n=Count("pk"),
        blocks=Count("block", distinct=True),
        locked=Count("pk", filter=FLAGS["locked"]),
    )
    by_file = {row["block__file"]: row for row in counts}
    files = MemoryFile.objects.for_user(user).filter(pk__in=by_file).select_related("chat", "character")
    found = [(file, by_file[file.pk]) for file in files.order_by("chat__name", "name")]
    return [Clearing(file, row["n"], row["blocks"], row["locked"]) for file, row in found]


def _clear(request: PersonRequest, character: Character, files: list[Clearing]) -> None:
    chosen = set(request.POST.getlist("file"))
    wanted = [one.file for one in files if len(files) == 1 or str(one.file.pk) in chosen]
    is_reset = "again" in request.POST
    batch = uuid4() if len(wanted) > 1 else None
    done = []
    with explained(request):
        for file in wanted:
            reason = _("Reset: all memories cleared, chats are read again") if is_reset else _("All memories cleared")
            kind = TrashItem.Kind.CHARACTER if file.chat_id is None else TrashItem.Kind.FILE
            done.append(memory_file.clear(file, author=request.user, reason=reason, kind=kind, batch=batch))
        if is_reset:
            _read_again(request.user, character, next((one for one in done if one), None))
    count = sum(one.removed for one in done if one)
    if not count:
        messages.info(request, _("There was nothing to clear."))
        return
    text = ngettext(
        "%(n)s memory cleared. It stays in the trash for %(days)s days.",
        "%(n)s memories cleared. They stay in the trash for %(days)s days.",
        count,
    )
    latest = next(one for one in done if one)
    say(request, text % {"n": count, "days": trash.KEPT.days}, undo_save_url(latest.file, latest))


def _read_again(user: User, character: Character, cleared: Revision | None) -> None:
    """Every chat counts as not read yet, until the revision that cleared the memories is taken back."""
    if cleared is not None:
        trash_items.keep_reading(cleared.file, cleared.number, reading_of(user, character))
    for mark in Watermark.objects.for_user(user).filter(character=character).select_related("chat"):
        read_again(user, mark.chat, character)
