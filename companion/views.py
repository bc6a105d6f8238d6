"""The companion's page: whether it is installed, whether it has called, and the buttons to put it in or take it out."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.access import owned
from companion import install as installer
from sync.models import Tavern


@require_GET
def show(request: HttpRequest, tavern_id: UUID) -> HttpResponse:
    """What stands in this SillyTavern."""
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    return render(request, "companion/companion.html", {"tavern": tavern, "status": installer.status(tavern)})


@require_POST
def install(request: HttpRequest, tavern_id: UUID) -> HttpResponse:
    """Put the companion in, with the address under which this person reached CharMem."""
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    api = request.build_absolute_uri(reverse("companion:pending", args=[tavern.pk])).removesuffix("pending/")
    try:
        installer.install(tavern, api, replace=bool(request.POST.get("replace")))
    except installer.InstallRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The companion is installed. Reload the SillyTavern page once."))
    return redirect("companion:tavern", tavern_id=tavern.pk)


@require_POST
def remove(request: HttpRequest, tavern_id: UUID) -> HttpResponse:
    """Take the companion out again."""
    tavern = owned(Tavern, request, pk=tavern_id, unlinked_at=None)
    try:
        kept = installer.remove(tavern)
    except installer.InstallRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("companion:tavern", tavern_id=tavern.pk)
    messages.success(request, _("The companion is removed. Reload the SillyTavern page once."))
    if kept:
        messages.warning(request, _("Changed by hand and left in place: %(names)s.") % {"names": ", ".join(kept)})
    return redirect("companion:tavern", tavern_id=tavern.pk)
