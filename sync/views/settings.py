"""Settings, SillyTavern: what is linked, in which state, and what could not be read."""

from __future__ import annotations

import time
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from sync import queries
from sync.forms import AddressForm
from sync.link import LinkError, unlink
from sync.models import Character, Tavern
from sync.pages import LinkedFolder, SettingsPage
from sync.renames import undo_rename
from sync.server_address import set_address, try_address
from sync.watch import look, start_import

PATIENCE = 5.0  # seconds a person waits for "Look now" before the rest happens in the background
PER_PAGE = 100


@require_GET
def settings(request: PersonRequest) -> HttpResponse:
    return render(request, "sync/settings.html", {"page": SettingsPage(request.user)})


@require_GET
def live(request: PersonRequest) -> HttpResponse:
    """The folders' state, for the page itself."""
    return render(request, "sync/_folders.html", {"page": SettingsPage(request.user)})


@require_POST
def look_now(request: PersonRequest, tavern_id: UUID) -> HttpResponse:
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    until = time.monotonic() + PATIENCE
    report = look(tavern, should_stop=lambda: time.monotonic() > until)
    if report is None:
        messages.info(request, _("A pass is under way already."))
    elif not report.finished:
        start_import(tavern)
        messages.info(request, _("There is much to read; it goes on in the background."))
    elif report.reason:
        messages.warning(request, report.reason)
    elif report.changed:
        messages.success(request, _("Looked again. What was new is here."))
    else:
        messages.success(request, _("Looked again. Nothing new."))
    return redirect("sync:settings")


@require_POST
def take_rename_back(request: PersonRequest, character_id: UUID) -> HttpResponse:
    character = owned(Character, request, pk=character_id)
    if character.former_avatars and character.gone_at is None:
        other = undo_rename(character)
        said = _("%(new)s is a character of its own now; the memories stay with %(old)s.")
        messages.success(request, said % {"new": other.avatar, "old": character.avatar})
    return redirect("sync:settings")


@require_GET
def issues(request: PersonRequest) -> HttpResponse:
    page = Paginator(queries.issues(request.user), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "sync/issues.html", {"page": page})


@require_GET
def databank(request: PersonRequest, tavern_id: UUID) -> HttpResponse:
    tavern = owned(Tavern, request, pk=tavern_id)
    page = Paginator(queries.attachments(request.user, tavern), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "sync/databank.html", {"page": page, "tavern": tavern})


@require_http_methods(["GET", "POST"])
def server(request: PersonRequest, tavern_id: UUID) -> HttpResponse:
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    form = AddressForm(request.POST) if request.method == "POST" else AddressForm.of(tavern)
    if request.method == "POST" and form.is_valid():
        try:
            set_address(tavern, form.address())
            if tavern.url:
                version = try_address(tavern)
                messages.success(request, _("SillyTavern %(version)s answers there.") % {"version": version})
            return redirect("sync:settings")
        except LinkError as error:
            form.add_error("url", str(error))
    return render(request, "sync/server.html", {"form": form, "tavern": tavern})


@require_http_methods(["GET", "POST"])
def remove(request: PersonRequest, tavern_id: UUID) -> HttpResponse:
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    if request.method == "POST":
        forget = request.POST.get("forget") == "1"
        unlink(tavern, forget=forget)
        said = _("Unlinked, and everything from this folder was removed here.") if forget else _("Unlinked.")
        messages.success(request, said)
        return redirect("sync:settings")
    return render(request, "sync/unlink.html", {"folder": LinkedFolder(request.user, tavern)})
