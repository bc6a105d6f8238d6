"""Settings → Models: connections and their tests."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from providers import builtin_page, connecting, pages, queries, test_jobs
from providers import test_connection as testing
from providers.base import ProviderError
from providers.catalogue import PRESETS, Preset
from providers.connecting import ConnectionProblem, Wish
from providers.discover import discover_local, talks
from providers.forms import ConnectionForm
from providers.models import Connection
from providers.test_page import test_part

TOO_MANY = "Ten tests a minute are enough; wait a moment. Nothing was changed."


@require_safe
def connection_list(request: PersonRequest) -> HttpResponse:
    """All connections of this person."""
    return render(request, "providers/list.html", {"page": pages.list_page(request.user)})


@require_safe
def new(request: PersonRequest) -> HttpResponse:
    """What answers here already, and the kinds there are."""
    context = {"found": discover_local(request.user), "presets": pages.offered_presets()}
    return render(request, "providers/new.html", context)


@require_POST
def found(request: PersonRequest) -> HttpResponse:
    """Use a server that answers here: connected, with its first model that talks, and tested."""
    wanted = request.POST.get("base_url", "")
    server = next((one for one in discover_local(request.user) if one.base_url == wanted), None)
    if server is None:
        messages.error(request, _("Nothing answers there any more. Is the server still running?"))
        return redirect("providers:new")
    model = next(filter(talks, server.models), server.models[0])
    wish = Wish(preset=server.preset, name=server.label, base_url=server.base_url, model=model)
    try:
        connection = connecting.add_connection(request.user, wish)
    except ConnectionProblem as problem:
        messages.error(request, problem.message)
        return redirect("providers:new")
    _test_now(request, connection)
    return redirect("providers:edit", connection.pk)


@sensitive_post_parameters("key")
@require_http_methods(["GET", "HEAD", "POST"])
def new_of(request: PersonRequest, preset: str) -> HttpResponse:
    """A connection of one kind."""
    row = _preset_or_404(preset)
    given = {name: request.GET[name][:500] for name in ("base_url", "name", "model") if name in request.GET}
    form = ConnectionForm(row, request.POST or None, instance=Connection(owner=request.user), initial=given)
    if request.method == "POST" and form.is_valid():
        try:
            connection = connecting.add_connection(request.user, form.wish())
        except ConnectionProblem as problem:
            form.add_error(problem.field if problem.field in form.fields else None, problem.message)
        else:
            _test_now(request, connection)
            return redirect("providers:edit", connection.pk)
    return _form_page(request, "providers/new_of.html", form, row)


@sensitive_post_parameters("key")
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: PersonRequest, pk: str) -> HttpResponse:
    """One connection: its last test, its settings, its models."""
    connection = owned(Connection, request, pk=pk)
    preset = pages.preset_of(connection)
    form = ConnectionForm(preset, request.POST or None, instance=connection)
    if request.method == "POST" and form.is_valid():
        had_key = bool(connection.key_sealed)
        try:
            connecting.change_connection(connection, form.wish())
        except ConnectionProblem as problem:
            form.add_error(problem.field if problem.field in form.fields else None, problem.message)
        else:
            forgot = had_key and not connection.key_sealed
            said = _("Saved. The address changed, so the key was forgotten; enter it again.") if forgot else _("Saved.")
            messages.success(request, said)
            return redirect("providers:edit", connection.pk)
    return _form_page(request, "providers/edit.html", form, preset, connection)


@require_POST
def test(request: PersonRequest, pk: str) -> HttpResponse:
    """Test connection."""
    connection = owned(Connection, request, pk=pk)
    _test_now(request, connection)
    return redirect("providers:edit", connection.pk)


@require_safe
def tested(request: PersonRequest, pk: str) -> HttpResponse:
    """The part of a page that waits for a test. When the test changed what the page's fields were filled from, the
    whole page is loaded again."""
    connection = owned(Connection, request, pk=pk)
    part = test_part(connection)
    if part.seen == request.GET.get("seen"):
        return HttpResponse(status=204)
    if part.job is None and part.led_to != request.GET.get("led_to"):
        return HttpResponse(headers={"HX-Refresh": "true"})
    place = "edit" if request.GET.get("place") == "edit" else ""
    context = {"test": part, "preset": pages.preset_of(connection), "place": place, "swap": True}
    return render(request, "providers/_test.html", context)


@require_POST
def models(request: PersonRequest, pk: str) -> HttpResponse:
    """Get the list of models again."""
    connection = owned(Connection, request, pk=pk)
    back = "providers:choose" if request.POST.get("back") == "choose" else "providers:edit"
    if not testing.may_test(request.user):
        messages.error(request, _(TOO_MANY))
        return redirect(back, connection.pk)
    try:
        found = connecting.refresh_listing(connection)
        messages.success(request, _("%(n)d models are offered.") % {"n": len(found)})
    except ProviderError as error:
        messages.error(request, error.sentence)
    return redirect(back, connection.pk)


@require_POST
def default(request: PersonRequest, pk: str) -> HttpResponse:
    """This one does everything that was not given to another one."""
    connection = owned(Connection, request, pk=pk)
    connecting.make_default(connection)
    messages.success(request, _("%(name)s is the default from now on.") % {"name": connection.name})
    return redirect("providers:list")


@require_POST
def forget_key(request: PersonRequest, pk: str) -> HttpResponse:
    """Forget the stored key."""
    connection = owned(Connection, request, pk=pk)
    connecting.set_key(connection, "")
    connection.save(update_fields=["key_sealed", "key_hint", "updated_at"])
    messages.success(request, _("The key is forgotten."))
    return redirect("providers:edit", connection.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: PersonRequest, pk: str) -> HttpResponse:
    """Ask, then remove."""
    connection = owned(Connection, request, pk=pk)
    if request.method == "POST":
        connecting.delete_connection(connection)
        messages.success(request, _("%(name)s is removed, and its key with it.") % {"name": connection.name})
        return redirect("providers:list")
    context = {
        "connection": connection,
        "calls": queries.calls(request.user).filter(connection=connection).count(),
        "has_duties": pages.leaves_work(request.user, connection),
    }
    return render(request, "providers/delete.html", context)


def _test_now(request: PersonRequest, connection: Connection) -> None:
    if not testing.may_test(request.user):
        messages.error(request, _(TOO_MANY))
        return
    test_jobs.start(connection)


def _preset_or_404(key: str) -> Preset:
    if key not in PRESETS:
        raise Http404(_("There is no such page."))
    return PRESETS[key]


def _form_page(
    request: PersonRequest, template: str, form: ConnectionForm, preset: Preset, connection: Connection | None = None
) -> HttpResponse:
    context = {"form": form, "preset": preset, "page": pages.form_page(form, connection)}
    if preset.reach == "builtin":
        context["builtin"] = builtin_page.chosen_row()
    return render(request, template, context, status=422 if form.errors else 200)
