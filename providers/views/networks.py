"""Which local networks people here may reach: for admins."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, admin_required
from providers import network
from providers.forms import NetworkForm
from providers.models import NetworkRule


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def networks(request: PersonRequest) -> HttpResponse:
    """The list in words, and one more."""
    form = NetworkForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        NetworkRule.objects.get_or_create(network=data["network"], person=data["person"])
        messages.success(request, _("%(network)s may be reached from now on.") % {"network": data["network"]})
        return redirect("providers:networks")
    context = {
        "form": form,
        "rules": NetworkRule.objects.select_related("person").order_by("network", "created_at"),
        "fixed": settings.LOCAL_NETWORKS,
        "usual": [str(n) for n in network.own_networks()],
    }
    return render(request, "providers/networks.html", context, status=422 if form.errors else 200)


@admin_required
@require_POST
def network_remove(request: PersonRequest, pk: int) -> HttpResponse:
    """Close a network again."""
    rule = get_object_or_404(NetworkRule, pk=pk)
    rule.delete()
    messages.success(request, _("%(network)s is closed.") % {"network": rule.network})
    return redirect("providers:networks")
