"""Home."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest
from memories.dashboard import Home, home
from memories.first_day import FirstDay, first_day
from memories.views.polled import polled
from memories.views.wizard import wants_wizard


def _shown(request: PersonRequest) -> dict[str, Home | FirstDay | None]:
    return {"home": home(request.user), "first_day": first_day(request.user)}


@require_safe
def page(request: PersonRequest) -> HttpResponse:
    """The landing page; somebody without any SillyTavern is led through the first steps."""
    if wants_wizard(request):
        return redirect("memories:wizard")
    return render(request, "memories/home.html", _shown(request))


@require_safe
def live(request: PersonRequest) -> HttpResponse:
    """The moving parts of Home."""
    return polled(request, "memories/home_live.html", {**_shown(request), "swap": True})
