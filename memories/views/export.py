"""Downloads of memories: pages that offer them, and the files themselves (?as=…)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.http import FileResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from memories import exporting, memory_file
from memories.character_frame import character_frame
from memories.export_book import book
from memories.export_data import as_json, characters_with_memories, files_of
from memories.memory_filters import is_uuid
from memories.models import MemoryFile, PromptOverride
from memories.page_queries import memory_counts
from sync.models import Character


@require_safe
def of_character(request: PersonRequest, character_id: UUID) -> HttpResponseBase:
    """One character: markdown of a file, JSON with provenance, the book."""
    character = owned(Character, request, pk=character_id)
    kind, now = request.GET.get("as", ""), timezone.localtime()
    if kind == exporting.MARKDOWN:
        return _markdown(request, character)
    if kind == exporting.JSON:
        pieces = as_json(request.user, [character], made_at=now, with_history="history" in request.GET)
        return _download(pieces, exporting.file_name(character, kind), kind)
    if kind == exporting.BOOK:
        pieces = book(request.user, character, made_at=now)
        return _download(pieces, exporting.file_name(character, kind), kind)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "memories",
        "files": files_of(request.user, character),
    }
    return render(request, "memories/export.html", context)


@require_safe
def everything(request: PersonRequest) -> HttpResponseBase:
    """All characters of a person: the archive, or the JSON alone."""
    kind, now = request.GET.get("as", ""), timezone.localtime()
    with_history = "history" in request.GET
    if kind == exporting.ARCHIVE:
        file = exporting.archive(request.user, made_at=now, with_history=with_history)
        name = exporting.file_name(None, kind)
        return FileResponse(file, as_attachment=True, filename=name, content_type=exporting.TYPES[kind])
    if kind == exporting.JSON:
        pieces = as_json(request.user, characters_with_memories(request.user), made_at=now, with_history=with_history)
        return _download(pieces, exporting.file_name(None, kind), kind)
    counts = memory_counts(request.user)
    characters = characters_with_memories(request.user)
    context = {
        "rows": [(one, counts.get(one.pk, (0, 0))[0], counts.get(one.pk, (0, 0))[1]) for one in characters],
        "memories": sum(counts[one.pk][0] for one in characters if one.pk in counts),
        "prompts": PromptOverride.objects.for_user(request.user).filter(is_active=True).count(),
    }
    return render(request, "memories/export_all.html", context)


def _markdown(request: PersonRequest, character: Character) -> FileResponse:
    """One memory file as SillyTavern reads it; the character's own when none is named."""
    wanted = request.GET.get("file", "")
    if is_uuid(wanted):
        file = owned(MemoryFile, request, pk=wanted, character=character)
    else:
        file = owned(MemoryFile, request, character=character, chat=None)
    name = exporting.file_name(character, exporting.MARKDOWN, file.name)
    return _download([memory_file.canonical(file)], name, exporting.MARKDOWN)


def _download(pieces: Iterable[str], name: str, kind: str) -> FileResponse:
    """Made in full before the first byte is sent, so that nobody gets half a file."""
    file = exporting.spooled(pieces)
    return FileResponse(file, as_attachment=True, filename=name, content_type=exporting.TYPES[kind])
