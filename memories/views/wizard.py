"""The first steps: a folder, a model, the first memories. Each is a page of its own and can be left and resumed."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest
from memories.extraction import start_extraction
from memories.views.polled import polled
from memories.views.saying import explained
from memories.wizard import FirstReading, candidates, model_choices, next_step, offered, reading
from providers import test_jobs
from providers.assigning import leave_to_default
from providers.connecting import (
    ConnectionProblem,
    Wish,
    add_connection,
    change_connection,
    listed_models,
    make_default,
)
from providers.models import Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for, connections
from providers.test_connection import may_test
from providers.test_page import test_part
from sync.link import LinkError, inspect_for, link_folder, link_sample
from sync.models import Tavern

LATER = "wizard_later"


def wants_wizard(request: PersonRequest) -> bool:
    """Somebody without any SillyTavern, who has not said "later" in this session."""
    return LATER not in request.session and not Tavern.objects.for_user(request.user).filter(unlinked_at=None).exists()


@require_safe
def start(request: PersonRequest) -> HttpResponse:
    """Go on where the person stopped."""
    return redirect(next_step(request.user))


@require_POST
def later(request: PersonRequest) -> HttpResponse:
    """Leave the first steps; Home has a link back to them."""
    request.session[LATER] = True
    return redirect("memories:home")


@require_http_methods(["GET", "HEAD", "POST"])
def folder(request: PersonRequest) -> HttpResponse:
    """Step 1: pick a folder, see what is in it, link it. Nothing is written before the button."""
    if request.method == "POST":
        return _link(request)
    found = candidates(request.user)
    chosen = request.GET.get("folder", "").strip() or next((row.path for row in found if row.is_free), "")
    context: dict[str, Any] = {"candidates": found, "chosen": chosen, "step": 1, "is_sample": chosen == "sample"}
    if chosen and chosen != "sample":
        try:
            context["report"] = inspect_for(request.user, chosen)
        except LinkError as error:
            context["error"] = str(error)
    return render(request, "memories/wizard_folder.html", context)


def _link(request: PersonRequest) -> HttpResponse:
    chosen = request.POST.get("folder", "")
    try:
        if chosen == "sample":
            link_sample(request.user)
        else:
            link_folder(request.user, chosen, url=request.POST.get("url", "").strip())
    except LinkError as error:
        messages.error(request, str(error))
        return redirect("memories:wizard_folder")
    return redirect(next_step(request.user))


@require_http_methods(["GET", "HEAD", "POST"])
def model(request: PersonRequest) -> HttpResponse:
    """Step 2: who reads the chats. A check is offered; going on does not need it."""
    if request.method == "POST":
        return _connect(request)
    choices = model_choices(request.user)
    present = connection_for(request.user, EXTRACTION)
    chosen = offered(choices, request.GET.get("choose", ""), present)
    mine = present if present and present.preset == chosen.preset.key else None
    test = test_part(mine) if mine else None
    models = list(chosen.models) or (listed_models(mine) if mine else [])
    context = {"choices": choices, "chosen": chosen, "connection": mine, "step": 2, "test": test, "models": models}
    return render(request, "memories/wizard_model.html", context)


def _wish(request: PersonRequest) -> Wish:
    typed = {name: request.POST.get(name, "").strip() for name in ("preset", "base_url", "key", "model")}
    return Wish(preset=typed["preset"], base_url=typed["base_url"], key=typed["key"], model=typed["model"])


def _connect(request: PersonRequest) -> HttpResponse:
    wish = _wish(request)
    again = f"{request.path}?choose={request.POST.get('choose', '')}"
    try:
        connection = _kept(request, wish)
    except ConnectionProblem as problem:
        messages.error(request, problem.message)
        return redirect(again)
    make_default(connection)
    leave_to_default(request.user, EXTRACTION)
    if "check" not in request.POST:
        return redirect("memories:wizard_first")
    if may_test(request.user):
        test_jobs.start(connection)
    else:
        messages.info(request, _("That were many tests in a short time. Try again in a minute."))
    return redirect(again)


def _kept(request: PersonRequest, wish: Wish) -> Connection:
    """The connection of that kind, changed as wished, or a new one."""
    same = connections(request.user).filter(preset=wish.preset).first()
    return change_connection(same, wish) if same else add_connection(request.user, wish)


@require_http_methods(["GET", "HEAD", "POST"])
def first(request: PersonRequest) -> HttpResponse:
    """Step 3: one chat is read while the person watches."""
    shown: FirstReading | None = reading(request.user)
    if request.method == "POST" and shown is not None and shown.chat is not None:
        with explained(request):
            start_extraction(request.user, character=shown.character, chat=shown.chat)
        return redirect("memories:wizard_first")
    return render(request, "memories/wizard_first.html", {"reading": shown, "step": 3})


@require_safe
def first_live(request: PersonRequest) -> HttpResponse:
    """The memories as they arrive."""
    return polled(request, "memories/_wizard_reading.html", {"reading": reading(request.user), "step": 3})
