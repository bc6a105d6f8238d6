"""Settings → Spending: sums, days, purposes, connections, and every call."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest
from providers import pages

CALLS_A_PAGE = 50


@require_safe
def spending(request: PersonRequest) -> HttpResponse:
    """Sums of today and 30 days."""
    return render(request, "providers/spending.html", {"page": pages.spending_page(request.user)})


@require_safe
def calls(request: PersonRequest) -> HttpResponse:
    """The ledger, newest first; filtered by the links of the spending page."""
    rows, said = pages.filtered_calls(request.user, request.GET)
    page = Paginator(rows, CALLS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "providers/calls.html", {"pages": page, "said": said})
