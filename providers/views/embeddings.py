"""Settings → Models: who measures what memories mean."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest
from providers import embedding_page, pages
from providers import test_connection as testing


@require_POST
def embeddings(request: PersonRequest) -> HttpResponse:
    """Choose a connection and its embedding model, or nobody; the choice is tried at once."""
    given = request.POST
    try:
        by = embedding_page.choose(request.user, given.get("embedder", ""), given.get("embedding_model", ""))
    except ValueError as problem:
        context = {"page": pages.list_page(request.user), "embedding_problem": str(problem)}
        return render(request, "providers/list.html", context, status=422)
    if by is None or not testing.may_test(request.user):
        messages.success(request, _("Saved.") if by else _("Saved. Words alone are compared from now on."))
        return redirect("providers:list")
    is_good, said = embedding_page.tried(by)
    (messages.success if is_good else messages.error)(request, said)
    return redirect("providers:list")
