"""Settings → Models → a connection: choose its model from the list that its server gave."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest, owned
from providers import connecting, model_choice, pages, test_jobs
from providers import test_connection as testing
from providers.connecting import ConnectionProblem
from providers.models import Connection


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: PersonRequest, pk: str) -> HttpResponse:
    """The list with its search and filters, the part below them alone while somebody types; a row chooses its model.
    Where the last test brought no memory, or none was made, the new model is tested at once."""
    connection = owned(Connection, request, pk=pk)
    if request.method == "POST":
        worked = connection.test_result.get("state") == "ok"
        try:
            connecting.choose_model(connection, request.POST.get("model", ""))
        except ConnectionProblem as problem:
            messages.error(request, problem.message)
            return redirect("providers:choose", connection.pk)
        messages.success(request, _("%(model)s is asked from now on.") % {"model": connection.model})
        if not worked and testing.may_test(request.user):
            test_jobs.start(connection)
        return redirect("providers:edit", connection.pk)
    wish = model_choice.read_wish(request.GET)
    page = model_choice.choice_page(connection, pages.preset_of(connection), wish)
    is_part = request.htmx.target == "found"
    template = "providers/_choice_found.html" if is_part else "providers/choose.html"
    return render(request, template, {"connection": connection, "page": page})
