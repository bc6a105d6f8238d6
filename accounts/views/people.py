"""People: who is here, invitations, roles, removal. For admins; and even they see no chat, memory or file of others."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import invitations, queries
from accounts import people as verbs
from accounts.access import PersonRequest, admin_required
from accounts.forms import InviteForm
from accounts.models import Invitation, User


@require_safe
@admin_required
def people(request: PersonRequest) -> HttpResponse:
    """The list of people and open invitations; a new link is shown this once."""
    context = {
        "rows": queries.people(),
        "columns": queries.columns(),
        "invitations": list(invitations.open_invitations()),
        "fresh": request.session.pop("fresh_invitation", None),
    }
    return render(request, "accounts/people.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def invite(request: PersonRequest) -> HttpResponse:
    """Make an invitation."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        invitation, token = invitations.invite(request.user, form.cleaned_data["role"], form.cleaned_data["note"])
        link = request.build_absolute_uri(reverse("accounts:join", args=[token]))
        request.session["fresh_invitation"] = {"id": str(invitation.pk), "link": link}
        return redirect("accounts:people")
    return render(request, "accounts/invite.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
@admin_required
def invitation_revoke(request: PersonRequest, pk: str) -> HttpResponse:
    """Take an invitation back."""
    invitations.revoke(get_object_or_404(Invitation, pk=pk))
    messages.success(request, _("The invitation is taken back. Its link is dead."))
    return redirect("accounts:people")


@require_safe
@admin_required
def person(request: PersonRequest, pk: str) -> HttpResponse:
    """One account in numbers."""
    return _person_page(request, get_object_or_404(User, pk=pk))


@require_POST
@admin_required
def role(request: PersonRequest, pk: str) -> HttpResponse:
    """Admin or member."""
    who = get_object_or_404(User, pk=pk)
    wanted = request.POST.get("role", "")
    if wanted not in User.Role.values:
        return _refused(request, who, _("A person is an admin or a member. Nothing was changed."))
    return _do(request, who, lambda: verbs.change_role(who, wanted), _("Role changed."))


@require_POST
@admin_required
def active(request: PersonRequest, pk: str) -> HttpResponse:
    """Close or reopen an account."""
    who = get_object_or_404(User, pk=pk)
    if request.POST.get("active") == "1":
        return _do(request, who, lambda: verbs.activate(who), _("The account is open again."))
    return _do(request, who, lambda: verbs.deactivate(who), _("The account is closed and its sessions have ended."))


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def remove(request: PersonRequest, pk: str) -> HttpResponse:
    """First what will happen, in numbers; then the removal, confirmed by the account's name."""
    who = get_object_or_404(User, pk=pk)
    context: dict[str, Any] = {"person": who, "consequences": verbs.consequences(who)}
    if request.method != "POST":
        return render(request, "accounts/remove.html", context)
    if request.POST.get("name") != who.username:
        context["error"] = _("Type the name exactly. Nothing was removed.")
        return render(request, "accounts/remove.html", context, status=422)
    try:
        verbs.remove(who)
    except verbs.LastAdmin as refused:
        return render(request, "accounts/remove.html", {**context, "error": str(refused)}, status=422)
    messages.success(request, _("%(name)s is removed.") % {"name": context["person"].name})
    return redirect("accounts:people")


def _do(request: PersonRequest, who: User, change: Any, said: str) -> HttpResponse:
    try:
        change()
    except verbs.LastAdmin as refused:
        return _refused(request, who, str(refused))
    messages.success(request, said)
    return redirect("accounts:person", pk=who.pk)


def _refused(request: PersonRequest, who: User, error: str) -> HttpResponse:
    return _person_page(request, who, error)


def _person_page(request: PersonRequest, who: User, error: str = "") -> HttpResponse:
    context = {"person": who, "facts": queries.person_facts(who), "roles": User.Role.choices, "error": error}
    return render(request, "accounts/person.html", context, status=422 if error else 200)
