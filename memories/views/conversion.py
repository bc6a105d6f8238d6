"""Import: choosing a source, tidying up by topic, copying between files."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest, owned
from memories import consolidation_choice, conversion, copying
from memories.character_frame import character_frame
from memories.consolidation_reads import estimate
from memories.conversion_databank import files_of, text_of
from memories.conversion_page import latest
from memories.conversion_rules import MOST_BULLETS
from memories.conversion_source import LARGEST
from memories.conversion_words import refusal
from memories.memory_list import is_uuid
from memories.models import MemoryFile, Proposal
from memories.views.blocks import undo_url
from memories.views.files import chosen_file
from memories.views.pace import keep_pace
from memories.views.saying import explained, say
from providers.purposes import CONVERSION
from providers.queries import connection_for
from sync.models import Attachment, Character


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """A Data Bank file, an upload or pasted text; read at once, saved by nobody but the person."""
    character = owned(Character, request, pk=character_id)
    file = chosen_file(request, character)
    status = 200
    if request.method == "POST":
        with explained(request):
            keep_pace(request, "upload")
            name, data, attachment = _chosen(request, character)
            found = conversion.start_conversion(request.user, file, source_name=name, text=data, attachment=attachment)
            return redirect("memories:proposal", found.pk)
        status = 422
    context = {
        **_frame(request, character),
        "file": file,
        "files": files_of(character),
        "open": latest(request.user, file, Proposal.Kind.CONVERSION),
        "pasted": request.POST.get("text", ""),
        "largest": LARGEST,
    }
    return render(request, "memories/import.html", context, status=status)


def _chosen(request: PersonRequest, character: Character) -> tuple[str, str | bytes, str]:
    """Name, content and Data Bank id of what the form names. ValueError when it names nothing."""
    wanted = request.POST.get("attachment", "")
    if is_uuid(wanted):
        attachment = owned(Attachment, request, pk=wanted, tavern=character.tavern)
        return attachment.name, text_of(attachment), str(attachment.pk)
    uploaded = request.FILES.get("upload")
    if uploaded is not None:
        if (uploaded.size or 0) > LARGEST:
            raise ValueError(refusal("too_big", str(uploaded.name)))
        return str(uploaded.name), uploaded.read(), ""
    text = request.POST.get("text", "")
    if not text.strip():
        raise ValueError(_("Choose a file or paste some text first. Nothing was imported."))
    return _("pasted text"), text, ""


@require_http_methods(["GET", "HEAD", "POST"])
def reformat(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Bring memories into blocks by topic: the blocks to choose, by rules or by a model."""
    character = owned(Character, request, pk=character_id)
    file = chosen_file(request, character)
    choice = consolidation_choice.Choice(which="all")
    picked = consolidation_choice.chosen(file, choice, request.POST.getlist("block") or None)
    status = 200
    if request.method == "POST":
        with explained(request):
            keep_pace(request, "run")
            found = conversion.start_reformat(
                request.user,
                file,
                block_ids=request.POST.getlist("block"),
                by=conversion.RULES if request.POST.get("by") == conversion.RULES else conversion.MODEL,
            )
            return redirect("memories:proposal", found.pk)
        status = 422
    untagged = _untagged(file)
    ticked = [row.block.pk for row in picked.rows if row.block.pk in untagged or row.memories > MOST_BULLETS]
    connection = connection_for(request.user, CONVERSION)
    context = {
        **_frame(request, character),
        "file": file,
        "chosen": picked,
        "untagged": untagged,
        "ticked": ticked,
        "connection": connection,
        "estimate": estimate(request.user, file, ticked, "conversion", connection) if connection and ticked else None,
        "open": latest(request.user, file, Proposal.Kind.REFORMAT),
    }
    return render(request, "memories/reformat.html", context, status=status)


def _untagged(file: MemoryFile) -> set[UUID]:
    """Blocks without a topic, or with more memories than a topic should have: chosen beforehand."""
    blocks = file.blocks.filter(is_locked=False).prefetch_related("memories")
    return {block.pk for block in blocks if not any(one.is_topic for one in block.memories.all())}


@require_http_methods(["GET", "HEAD", "POST"])
def copy(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Copy the memories of another file here: merged, or in place of what is here."""
    character = owned(Character, request, pk=character_id)
    file = chosen_file(request, character)
    if request.method == "POST":
        wanted = request.POST.get("source", "")
        source = owned(MemoryFile, request, pk=wanted if is_uuid(wanted) else None)
        with explained(request):
            mode = copying.REPLACE if request.POST.get("mode") == copying.REPLACE else copying.MERGE
            done = copying.copy(request.user, source, file, mode=mode)
            _say_copied(request, done, file)
            return redirect("memories:character", character.pk)
    rows = MemoryFile.objects.for_user(request.user).exclude(pk=file.pk).filter(blocks__isnull=False).distinct()
    context: dict[str, Any] = {
        **_frame(request, character),
        "file": file,
        "sources": rows.select_related("character", "chat").order_by("character__name", "name")[:300],
    }
    return render(request, "memories/copy.html", context)


def _say_copied(request: PersonRequest, done: copying.Copied, file: MemoryFile) -> None:
    if done.revision is None:
        messages.info(request, _("Everything is here already; nothing was copied."))
        return
    text = ngettext("%(n)d block copied.", "%(n)d blocks copied.", done.added) % {"n": done.added}
    if done.skipped:
        more = ngettext("%(n)d was here already.", "%(n)d were here already.", done.skipped)
        text = f"{text} {more % {'n': done.skipped}}"
    say(request, text, undo_url(file))


def _frame(request: PersonRequest, character: Character) -> dict[str, Any]:
    return {"hero": character_frame(request.user, character), "tab": "memories"}
