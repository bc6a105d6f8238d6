"""Pages about background work. Every view starts from the signed-in person; a stranger's job is 404."""

from __future__ import annotations

import uuid
from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from accounts.access import owned
from accounts.models import User
from jobs import holding, queries
from jobs.enqueue import request_cancel
from jobs.enqueue import retry as retry_job
from jobs.models import Job
from jobs.pages import JobPage, JobsPage


@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    page = JobsPage(cast(User, request.user), request.GET)
    return render(request, "jobs/list.html", {"page": page})


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The list's fragment, for the page itself."""
    return JobsPage(cast(User, request.user), request.GET).answer(request)


@require_GET
def detail(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    page = JobPage(request, owned(Job, request, pk=job_id))
    return render(request, "jobs/detail.html", {"page": page})


@require_GET
def detail_live(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """One job's fragment, for its page."""
    return JobPage(request, owned(Job, request, pk=job_id)).answer(request)


@require_POST
def stop(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    job = owned(Job, request, pk=job_id)
    request_cancel(job)
    if job.is_active:
        messages.info(request, _("Stopping. What is finished stays."))
    return _back(request, job)


@require_POST
def hold(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Pause it; what is done stays."""
    job = owned(Job, request, pk=job_id)
    if holding.hold(job):
        messages.info(request, _("Paused. What is finished stays, and it goes on when you say so."))
    return _back(request, job)


@require_POST
def go_on(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Let a paused job go on."""
    job = owned(Job, request, pk=job_id)
    holding.let_go(job)
    return _back(request, job)


@require_POST
def retry(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    job = owned(Job, request, pk=job_id)
    if not retry_job(job):
        messages.warning(request, _("Nothing was started: this work is done, or a newer job for the same is active."))
    return _back(request, job)


@require_POST
def cancel_waiting(request: HttpRequest) -> HttpResponse:
    """Stop everything of this person that waits; what runs goes on."""
    rows = list(queries.waiting(cast(User, request.user)))
    for job in rows:
        request_cancel(job)
    text = ngettext("%(n)d waiting job was taken out.", "%(n)d waiting jobs were taken out.", len(rows))
    messages.success(request, text % {"n": len(rows)})
    return redirect("jobs:list")


def _back(request: HttpRequest, job: Job) -> HttpResponse:
    if request.POST.get("from") == "list":
        return redirect("jobs:list")
    return redirect("jobs:detail", job.pk)
