"""The activity log: page, drawer, file, what was sent, and whether that is kept."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import activity_texts
from memories.activity_page import IN_DRAWER, ActivityPage, Asked, file_lines, parts_of
from memories.models import Activity, ActivityText
from memories.views.polled import polled


@require_safe
def page(request: PersonRequest) -> HttpResponse:
    """The log, newest first; beside another page as a drawer."""
    if request.htmx:
        log = ActivityPage(request.user, request.GET, size=IN_DRAWER)
        return render(request, "memories/_activity_drawer.html", {"log": log})
    return render(request, "memories/activity.html", {"log": ActivityPage(request.user, request.GET)})


@require_safe
def live(request: PersonRequest) -> HttpResponse:
    """The lines again; nothing when there is nothing new."""
    return polled(request, "memories/_activity_lines.html", {"log": ActivityPage(request.user, request.GET)})


@require_safe
def text(request: PersonRequest, activity_id: int) -> HttpResponse:
    """What was sent and answered, where that is kept."""
    line = owned(Activity, request, pk=activity_id)
    row = owned(ActivityText, request, activity=line, expires_at__gt=timezone.now())
    context = {"line": line, "parts": parts_of(activity_texts.unpack(row)), "until": row.expires_at}
    template = "memories/_activity_text.html" if request.htmx else "memories/activity_text.html"
    return render(request, template, context)


@require_safe
def download(request: PersonRequest) -> StreamingHttpResponse:
    """The filtered log as a text file; with what was sent and answered only when that is asked for."""
    with_texts = request.GET.get("full") == "1"
    rows = Asked.of(request.GET).rows(request.user)
    rows = rows.select_related("full") if with_texts else rows
    lines = file_lines(rows.iterator(500), with_texts=with_texts)
    response = StreamingHttpResponse(lines, content_type="text/plain; charset=utf-8")
    name = f"charmem-activity-{timezone.localtime():%Y-%m-%d-%H%M}.txt"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
def verbose(request: PersonRequest) -> HttpResponse:
    """Keep prompts and answers from now on, or no more."""
    is_on, days = request.POST.get("on") == "1", request.POST.get("days", "")
    activity_texts.set_verbose(request.user, is_on=is_on, days=int(days) if days.isascii() and days.isdigit() else 7)
    if is_on:
        messages.success(request, _("From now on, prompts and answers are kept beside their lines."))
    else:
        messages.success(request, _("Nothing more is kept. What was kept before stays until its day, or erase it now."))
    return redirect("memories:activity")


@require_POST
def erase(request: PersonRequest) -> HttpResponse:
    """Forget all prompts and answers that are kept."""
    count = activity_texts.erase(request.user)
    said = ngettext("%(n)d kept text is erased.", "%(n)d kept texts are erased.", count) % {"n": count}
    messages.success(request, said)
    return redirect("memories:activity")
