"""Settings → You: name, time zone, look, password, sessions."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import sign_ins, throttling
from accounts.access import PersonRequest
from accounts.devices import device_name, is_phone
from accounts.forms import PasswordForm, ProfileForm, zone_names


@require_http_methods(["GET", "HEAD", "POST"])
def you(request: PersonRequest) -> HttpResponse:
    """Name, time zone, theme and density; below them password and sessions."""
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST":
        if form.is_valid():
            form.save()
            messages.success(request, _("Saved."))
            return redirect("accounts:you")
        request.user.refresh_from_db()  # the page around the refused form shows what is kept
    return _page(request, profile=form)


@sensitive_post_parameters("old", "new")
@require_POST
def password(request: PersonRequest) -> HttpResponse:
    """A new password; every other session ends."""
    key = ("password", str(request.user.pk))
    form = PasswordForm(request.user, request.POST)
    if throttling.begin_try(key):
        form.add_error(None, _("Too many tries. Wait a moment; the old password stays."))
    if form.is_valid():
        throttling.forget(key)
        ended = sign_ins.change_password(request, request.user, form.cleaned_data["new"])
        said = ngettext(
            "New password saved. %(n)d other session ended.", "New password saved. %(n)d other sessions ended.", ended
        )
        messages.success(request, said % {"n": ended})
        return redirect("accounts:you")
    return _page(request, password=form)


@require_POST
def session_end(request: PersonRequest, pk: str) -> HttpResponse:
    """End one session of one's own."""
    row = get_object_or_404(sign_ins.sessions(request.user), pk=pk)
    sign_ins.end(row)
    messages.success(request, _("That session has ended."))
    return redirect("accounts:you")


@require_POST
def sessions_end(request: PersonRequest) -> HttpResponse:
    """End all sessions but this one."""
    ended = sign_ins.end_all(request.user, but=sign_ins.current_id(request))
    messages.success(request, ngettext("%(n)d session ended.", "%(n)d sessions ended.", ended) % {"n": ended})
    return redirect("accounts:you")


def _page(
    request: PersonRequest, profile: ProfileForm | None = None, password: PasswordForm | None = None
) -> HttpResponse:
    refused = any(form is not None and form.errors for form in (profile, password))
    context = {
        "profile": profile or ProfileForm(instance=request.user),
        "password": password or PasswordForm(request.user),
        "zones": zone_names(),
        "devices": _devices(request),
    }
    return render(request, "accounts/you.html", context, status=422 if refused else 200)


def _devices(request: PersonRequest) -> list[dict[str, object]]:
    mine = sign_ins.current_id(request)
    return [
        {"row": row, "name": device_name(row.agent), "is_phone": is_phone(row.agent), "is_this": str(row.pk) == mine}
        for row in sign_ins.sessions(request.user)
    ]
