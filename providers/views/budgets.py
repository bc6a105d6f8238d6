"""Settings → Spending → Limits: one's own; for admins also those of everybody together and of other people."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest, admin_required
from accounts.models import User
from providers import budgets
from providers.budget_forms import BudgetForm
from providers.budget_page import people
from providers.budget_sums import INSTANCE, Standing, scope_of, standings, unpriced_calls, zone_of
from providers.models import Budget


@require_http_methods(["GET", "HEAD", "POST"])
def own(request: PersonRequest) -> HttpResponse:
    """One's own limits; an admin may have fixed them."""
    budget = _budget(scope_of(request.user.pk))
    is_open = request.user.is_admin or not budget.is_fixed
    if request.method == "POST" and not is_open:
        messages.error(request, _("An admin set these limits; they can be changed by an admin only."))
        return redirect("providers:budgets")
    context: dict[str, Any] = {"is_own": True, "is_open": is_open, "budget": budget}
    if request.user.is_admin:
        context["people"] = people()
    return _page(request, budget, request.user, context)


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def everybody(request: PersonRequest) -> HttpResponse:
    """The limits of all people here together."""
    return _page(request, _budget(INSTANCE), None, {"is_open": True, "is_instance": True})


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: PersonRequest, pk: str) -> HttpResponse:
    """The limits of somebody else: sums are shown, never what calls were about."""
    somebody = get_object_or_404(User, pk=pk)
    return _page(request, _budget(scope_of(somebody.pk)), somebody, {"is_open": True, "person": somebody}, may_fix=True)


def _budget(scope: str) -> Budget:
    return Budget.objects.filter(scope=scope).first() or Budget(scope=scope)


def _page(
    request: PersonRequest, budget: Budget, somebody: User | None, context: dict[str, Any], *, may_fix: bool = False
) -> HttpResponse:
    form = BudgetForm(request.POST or None, instance=budget, may_fix=may_fix)
    if request.method == "POST" and form.is_valid():
        budgets.set_budget(somebody, **form.cleaned_data)
        messages.success(request, _("The limits are changed. What waited for them looks again now."))
        return redirect("providers:budgets" if context.get("is_own") else request.path)
    found = _standings(budget, somebody or request.user)
    unpriced = unpriced_calls(budget, found[-1].period) if found else 0
    context |= {"form": form, "standings": found, "unpriced": unpriced}
    return render(request, "providers/budgets.html", context, status=422 if form.errors else 200)


def _standings(budget: Budget, somebody: User) -> list[Standing]:
    return standings(budget, zone_of(budget, somebody)) if budget.pk else []
