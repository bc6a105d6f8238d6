"""Settings → Models → Built-in model: one for everybody here, chosen by admins."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, admin_required
from providers import builtin, model_download
from providers.builtin import BuiltinProblem
from providers.builtin_forms import BuiltinForm, DownloadForm
from providers.builtin_page import builtin_page


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: PersonRequest) -> HttpResponse:
    """Which file answers, and how it runs."""
    form = BuiltinForm(builtin.current(), request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            builtin.change(form.wish())
        except BuiltinProblem as problem:
            form.add_error(problem.field, problem.message)
        else:
            messages.success(request, _("Saved. It holds from the next question on."))
            return redirect("providers:builtin")
    return _page(request, form=form)


@admin_required
@require_POST
def download(request: PersonRequest) -> HttpResponse:
    """Begin to download a model."""
    form = DownloadForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            model_download.start_download(request.user, data["url"], data["sha256"], data["name"])
        except BuiltinProblem as problem:
            form.add_error(problem.field, problem.message)
        else:
            return redirect("providers:builtin")
    return _page(request, wanted=form)


@admin_required
@require_safe
def progress(request: PersonRequest) -> HttpResponse:
    """How far the download is; when it has ended, the whole page is asked for again."""
    job = model_download.newest(request.user)
    if job is None or not job.is_active:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "providers/_builtin_progress.html", {"job": job})


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: PersonRequest) -> HttpResponse:
    """Ask, then delete a file of the models folder."""
    name = (request.POST if request.method == "POST" else request.GET).get("name", "")
    try:
        file = builtin.removable(name)
        if request.method != "POST":
            return render(request, "providers/builtin_remove.html", {"file": file})
        file.path.unlink(missing_ok=True)
        messages.success(request, _("%(name)s is deleted.") % {"name": name})
    except BuiltinProblem as problem:
        messages.error(request, problem.message)
    return redirect("providers:builtin")


def _page(
    request: PersonRequest, *, form: BuiltinForm | None = None, wanted: DownloadForm | None = None
) -> HttpResponse:
    context = {
        "form": form or BuiltinForm(builtin.current()),
        "wanted": wanted or DownloadForm(),
        "page": builtin_page(request.user),
    }
    is_wrong = bool((form and form.errors) or (wanted and wanted.errors))
    return render(request, "providers/builtin.html", context, status=422 if is_wrong else 200)
