"""The ways in and out: sign in, sign out, first run, invitation."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import first_run, invitations, password_links, sign_ins, throttling
from accounts.addresses import client_address, network_of
from accounts.forms import LoginForm, NewPasswordForm, NewPersonForm
from accounts.models import User

WELCOME = "/wizard/"


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Sign in. Unknown names get the same answer in the same time as wrong passwords (stack-notes §9.3)."""
    if request.user.is_authenticated:
        return redirect("/")
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["username"]
        key = ("login", name.casefold(), network_of(client_address(request)))
        wait = throttling.begin_try(key)
        person = None if wait else authenticate(request, username=name, password=form.cleaned_data["password"])
        if isinstance(person, User):
            throttling.forget(key)
            sign_ins.sign_in(request, person, stay=form.cleaned_data["stay"])
            return HttpResponseRedirect(_next(request))
        form.add_error("password", _refusal(wait or throttling.current_wait(key)))
    context = {"form": form, "next": _next(request), "is_unused": not User.objects.exists()}
    return _page(request, "accounts/login.html", context, form)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Sign out here."""
    sign_ins.forget_current(request)
    end_session(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@login_not_required
@never_cache
@sensitive_post_parameters("password", "token")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """The first account. There is no such page without a living token, and never again once somebody exists."""
    token = request.POST.get("token") or request.GET.get("token", "")
    if not first_run.is_open(token):
        raise Http404(_("There is no such page."))
    form = NewPersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = dict(form.cleaned_data, time_zone=settings.TIME_ZONE)
        person = first_run.create_first_admin(token, data.pop("username"), data.pop("password"), **data)
        if person is None:
            raise Http404(_("There is no such page."))
        return _welcome(request, person)
    return _page(request, "accounts/setup.html", {"form": form, "token": token}, form)


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Accept an invitation."""
    invitation = invitations.find(token)
    if invitation is None:
        raise Http404(_("There is no such page."))
    form = NewPersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = dict(form.cleaned_data, time_zone=invitation.invited_by.time_zone)
        person = invitations.accept(token, data.pop("username"), data.pop("password"), **data)
        if person is None:
            raise Http404(_("There is no such page."))
        return _welcome(request, person)
    return _page(request, "accounts/join.html", {"form": form, "invitation": invitation}, form)


@login_not_required
@never_cache
@sensitive_post_parameters("new")
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest, pk: str, token: str) -> HttpResponse:
    """A lost password: the link comes from the server's command line (accounts/password_links.py)."""
    person = password_links.find(pk, token)
    if person is None:
        raise Http404(_("There is no such page."))
    form = NewPasswordForm(person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not password_links.use(person, token, form.cleaned_data["new"]):
            raise Http404(_("There is no such page."))
        sign_ins.sign_in(request, User.objects.get(pk=person.pk))
        return redirect("/")
    return _page(request, "accounts/new_password.html", {"form": form, "person": person}, form)


def _page(request: HttpRequest, template: str, context: dict[str, object], form: object) -> HttpResponse:
    """The page with its form: 422 when the form was refused."""
    is_refused = bool(getattr(form, "errors", None))
    return render(request, template, context, status=422 if is_refused else 200)


def _welcome(request: HttpRequest, person: User) -> HttpResponse:
    """Sign the new person in and start the wizard, where there is one."""
    sign_ins.sign_in(request, person)
    try:
        resolve(WELCOME)
    except Resolver404:
        return redirect("/")
    return redirect(WELCOME)


def _next(request: HttpRequest) -> str:
    """Where the visitor wanted to go, if that is a page of ours."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/"


def _refusal(wait: int) -> str:
    if wait:
        return _("Name or password is wrong. Next try in %(wait)s.") % {"wait": _in_words(wait)}
    return _("Name or password is wrong.")


def _in_words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"
