"""Taking over from the CharMemory extension: what there is, with ticks; POST takes over what is ticked."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import PersonRequest, owned
from memories import migration, migration_words
from memories.migration_apply import Taken, take_over
from memories.views.saying import explained
from providers import local_model
from sync.models import Tavern
from sync.tavern.settings_file import SettingsError


@require_safe
def folders(request: PersonRequest) -> HttpResponse:
    """Which folder to look into; with a single one, straight to it."""
    taverns = list(Tavern.objects.for_user(request.user).filter(unlinked_at=None).order_by("created_at"))
    if len(taverns) == 1:
        return redirect("memories:take_over_from", taverns[0].pk)
    return render(request, "memories/take_over_folders.html", {"taverns": taverns})


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, tavern_id: UUID) -> HttpResponse:
    """The preview; after a POST what was taken over, and what is left."""
    tavern = owned(Tavern, request, pk=tavern_id)
    taken: Taken | None = None
    offer, problem = _look(request, tavern)
    if request.method == "POST" and offer is not None:
        with explained(request):
            taken = take_over(request.user, offer, set(request.POST.getlist("take")))
        offer, problem = _look(request, tavern)
    context: dict[str, Any] = {"tavern": tavern, "offer": offer, "taken": taken, "problem": problem}
    if offer is not None:
        context |= {
            "choices": migration_words.choices(offer),
            "prompts": migration_words.prompts(offer),
            "points": migration_words.by_owner(offer),
            "source": migration.source_words(offer.source),
            "wants_builtin": offer.source == "webllm" and local_model.is_available(),
        }
    return render(request, "memories/take_over.html", context, status=200 if offer is not None else 409)


def _look(request: PersonRequest, tavern: Tavern) -> tuple[migration.Offer | None, str]:
    try:
        return migration.offer(request.user, tavern), ""
    except SettingsError as error:
        return None, f"{error} {_('Nothing was changed.')}"
    except OSError:
        return None, _("The folder or its settings.json cannot be read just now. Nothing was changed.")
