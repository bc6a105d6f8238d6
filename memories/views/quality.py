"""What happens to doubtful bullets, for all of a person's characters."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest
from memories import choosing, quality_page
from memories.chosen import choices_for
from memories.views.saying import say


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: PersonRequest) -> HttpResponse:
    """Each check with what is chosen and how often it struck; the second question; how the models fare."""
    if request.method == "POST":
        gate = quality_page.chosen({name: str(value) for name, value in request.POST.items()})
        values = {"gate": gate, "checks_with_model": request.POST.get("checks_with_model") == "on"}
        choosing.change_settings(request.user, values)
        say(request, _("Saved. It holds for the next reading."))
        return redirect("memories:quality")
    choices = choices_for(request.user)
    context = {
        "checks": quality_page.check_rows(request.user, choices),
        "checks_with_model": choices.checks_with_model,
        "price": quality_page.checking_price(request.user),
        "models": quality_page.model_rows(request.user),
        "first_day": quality_page.gate_counts.first_day(request.user),
    }
    return render(request, "memories/quality.html", context)
