"""Settings → Models: who does what."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest
from providers import assigning, duty_page, pages


@require_POST
def duties(request: PersonRequest) -> HttpResponse:
    """Give purposes to connections, and say who steps in."""
    try:
        chosen = list(duty_page.wanted(request.user, request.POST))
    except ValueError as problem:
        context = {"page": pages.list_page(request.user), "problem": str(problem)}
        return render(request, "providers/list.html", context, status=422)
    for purpose, (first, *spares) in chosen:
        assigning.assign(request.user, purpose.name, first, [one for one in spares if one is not None])
    messages.success(request, _("Saved."))
    return redirect("providers:list")
