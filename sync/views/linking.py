"""Linking a folder: choose, look what is inside, confirm. Admins also say which folder is whose."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, admin_required
from sync.forms import FolderForm, GrantForm, ProofForm
from sync.link import LinkError, grant, inspect_folder, inspect_for, link_folder, link_sample
from sync.models import FolderGrant
from sync.pages import choices
from sync.places import guesses, roots
from sync.proof import may_prove, prove_by_login


@require_http_methods(["GET", "POST"])
def link(request: PersonRequest) -> HttpResponse:
    """GET shows what may be chosen, POST what is inside; POST with `confirm` links it."""
    if request.method == "GET":
        return _page(request)
    folder = request.POST.get("folder", "")
    try:
        if request.POST.get("confirm"):
            tavern = link_folder(request.user, folder)
            messages.success(request, _("%(name)s is linked and is being read.") % {"name": tavern.name})
            return redirect("sync:settings")
        return _page(request, report=inspect_for(request.user, folder), folder=folder)
    except LinkError as error:
        return _page(request, error=str(error), folder=folder)


@require_POST
def sample(request: PersonRequest) -> HttpResponse:
    link_sample(request.user)
    messages.success(request, _("The sample story is linked and is being read."))
    return redirect("sync:settings")


@require_POST
def prove(request: PersonRequest) -> HttpResponse:
    form = ProofForm(request.POST)
    if not form.is_valid():
        return _page(request, proof=form)
    if not may_prove(request.user):
        form.add_error("url", _("These were many tries. Wait a minute; nothing was changed."))
        return _page(request, proof=form)
    data = form.cleaned_data
    try:
        row = prove_by_login(request.user, data["url"], data["login"], data["password"])
        return _page(request, report=inspect_folder(row.folder), folder=row.folder)
    except LinkError as error:
        form.add_error("url", str(error))
        return _page(request, proof=form)


@require_http_methods(["GET", "POST"])
@admin_required
def folders(request: PersonRequest) -> HttpResponse:
    """Which folder is whose; never what is in it."""
    form = GrantForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = grant(form.cleaned_data["folder"], form.cleaned_data["person"])
            messages.success(request, _("Assigned to %(name)s.") % {"name": row.user.name})
            return redirect("sync:folders")
        except LinkError as error:
            form.add_error("folder", str(error))
    rows = FolderGrant.objects.select_related("user").order_by("folder")
    context = {"form": form, "grants": rows, "guesses": guesses(), "roots": roots()}
    return render(request, "sync/folders.html", context)


@require_POST
@admin_required
def revoke(request: PersonRequest, grant_id: UUID) -> HttpResponse:
    get_object_or_404(FolderGrant, pk=grant_id).delete()
    messages.success(request, _("Taken back. A folder that is linked already stays linked."))
    return redirect("sync:folders")


def _page(request: PersonRequest, **more: Any) -> HttpResponse:
    context = {
        "choices": choices(request.user),
        "form": FolderForm(initial={"folder": more.get("folder", "")}),
        "proof": ProofForm(),
        "roots": roots(),
        **more,
    }
    return render(request, "sync/link.html", context)
