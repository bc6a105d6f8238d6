"""Importing an export of another installation: upload, look, take."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest
from memories import importing_export
from memories import importing_export_upload as uploads
from memories.importing_export_read import BadExport, ExportIn, read
from memories.views.pace import keep_pace
from memories.views.saying import say
from sync.models import Character


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest) -> HttpResponse:
    """Choose a file; then see what it would add; then take it."""
    token = request.POST.get("upload") or request.GET.get("upload", "")
    try:
        if request.method == "POST" and isinstance(file := request.FILES.get("file"), UploadedFile):
            return _upload(request, file)
        if request.method == "POST" and "cancel" in request.POST:
            uploads.drop(request.user, token)
            return redirect("memories:import_export")
        export = _export(request, token)
    except BadExport as bad:
        uploads.drop(request.user, token)
        return _choose(request, importing_export.sentence(bad))
    if export is None:
        missing = _("Choose a file first.") if request.method == "POST" and not token else ""
        gone = _("This upload is not here any more. Choose the file again; nothing was imported.") if token else ""
        return _choose(request, missing or gone)
    choices = _choices(request)
    if request.method == "POST" and "take" in request.POST:
        return _take(request, export, choices, token)
    return _preview(request, export, choices, token)


def _upload(request: PersonRequest, file: UploadedFile) -> HttpResponse:
    try:
        keep_pace(request, "upload")
    except ValueError as too_often:
        return _choose(request, str(too_often))
    token = uploads.keep(request.user, file)
    try:
        _export(request, token)
    except BadExport:
        uploads.drop(request.user, token)
        raise
    return redirect(f"{reverse('memories:import_export')}?upload={token}")


def _export(request: PersonRequest, token: str) -> ExportIn | None:
    data = uploads.load(request.user, token)
    return None if data is None else read(data)


def _choose(request: PersonRequest, problem: str = "") -> HttpResponse:
    return render(request, "memories/import_export.html", {"problem": problem}, status=422 if problem else 200)


def _preview(request: PersonRequest, export: ExportIn, choices: dict[int, str], token: str) -> HttpResponse:
    plans = importing_export.plan(request.user, export, choices)
    context: dict[str, Any] = {
        "export": export,
        "plans": plans,
        "upload": token,
        "new": sum(one.new for one in plans),
        "known": sum(one.known for one in plans),
        "people": Character.objects.for_user(request.user).order_by("name").only("pk", "name"),
        "leave_out": importing_export.LEAVE_OUT,
        "with_prompts": "prompts" in request.POST,
    }
    return render(request, "memories/import_export.html", context)


def _take(request: PersonRequest, export: ExportIn, choices: dict[int, str], token: str) -> HttpResponse:
    taken = importing_export.take(request.user, export, choices, with_prompts="prompts" in request.POST)
    uploads.drop(request.user, token)
    if not taken.files and not taken.prompts:
        messages.info(request, _("Everything of this export is here already. Nothing was added."))
        return redirect("memories:characters")
    text = ngettext("%(n)s memory imported.", "%(n)s memories imported.", taken.memories) % {"n": taken.memories}
    say(request, text, f"{reverse('memories:undo_replace')}?to=characters&batch={taken.batch}" if taken.files else "")
    return redirect("memories:characters")


def _choices(request: PersonRequest) -> dict[int, str]:
    """Who is who, by the place in the export: fields c0, c1, …"""
    fields = ((name[1:], str(value)) for name, value in request.POST.items() if name[:1] == "c")
    return {int(number): value for number, value in fields if number.isdecimal() and len(number) < 6}
