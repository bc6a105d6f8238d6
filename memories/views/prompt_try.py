"""The page that tries a prompt on a chat, and the part of it that waits for the answer."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import PersonRequest
from memories import extraction_plan, prompt_pages, prompt_words, try_it, try_it_page, try_notes_page
from memories.try_it import Preview
from memories.try_it_page import Choice
from memories.try_notes_page import NotesChoice
from memories.try_parts import Trial
from memories.views.pace import keep_pace
from memories.views.polled import polled
from memories.views.prompts import page_of
from memories.views.saying import explained


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, name: str) -> HttpResponse:
    """What would be sent, its size and price; POST with do=ask sends it."""
    is_fresh = request.method != "POST" and "job" not in request.GET
    # The form's character is the one to try on; whose text the tabs lead to stands in `place`.
    shown = page_of(request, name, "character" if is_fresh else "place")
    if not shown.can_try:
        raise Http404(_("This prompt cannot be tried on a chat."))
    job = try_it_page.job_of(request.user, name, request.GET.get("job", ""))
    given = request.POST if request.method == "POST" else (job.params if job else request.GET)
    chooser = try_notes_page if try_it.is_notes(name) else try_it_page
    choice = chooser.choose(request.user, name, given.dict() if hasattr(given, "dict") else given)
    before = try_it.earlier(job) if job else None
    context = {"page": shown, "tab": "try", "job": job, "before": before, **_preview(request, choice)}
    if request.POST.get("do") == "ask" and choice.trial is not None and not context["error"]:
        with explained(request):
            keep_pace(request, "try")
            started = try_it.start(request.user, choice.trial)
            place = f"&place={shown.character.pk}" if shown.character else ""
            return redirect(f"{request.path}?job={started.pk}{place}")
    is_refused = request.method == "POST" and bool(context["error"])
    return render(request, "memories/prompt_try.html", context, status=422 if is_refused else 200)


def _preview(request: PersonRequest, choice: Choice | NotesChoice) -> dict[str, Any]:
    """The sections, or what stands in the way."""
    context: dict[str, Any] = {"choice": choice, "error": choice.error, "is_notes": isinstance(choice, NotesChoice)}
    if choice.trial is None:
        return context
    try:
        preview = try_it.prepare(request.user, choice.trial)
    except ValueError as error:
        return context | {"error": str(error)}
    found = prompt_pages.problems(choice.trial.name, choice.text) if choice.text else []
    if isinstance(choice.trial, Trial) and isinstance(preview, Preview):
        context |= _reads_messages(choice.trial, preview)
    else:
        context["is_merge"] = not context["is_notes"]
    return context | {
        "preview": preview,
        "version": prompt_words.version_words(preview.version),
        "slices": try_it_page.slices(preview),
        "bar_label": try_it_page.bar_label(preview),
        "problems": [prompt_words.say(one) for one in found if one.is_error],
    }


def _reads_messages(trial: Trial, preview: Preview) -> dict[str, Any]:
    """What only an extraction has: messages for a further call, and another prompt for small models."""
    is_group = try_it.is_group(trial.name)
    usual = trial.name if is_group else extraction_plan.prompt_name(trial.connection)
    return {
        "is_group": is_group,
        "left_over": try_it_page.left_over(preview, trial),
        "other": "" if usual == trial.name else prompt_words.long_name(usual),
    }


@require_safe
def answer(request: PersonRequest, name: str) -> HttpResponse:
    """The answer as far as it is there."""
    job = try_it_page.job_of(request.user, name, request.GET.get("job", ""))
    if job is None:
        raise Http404(_("This try is not kept any more."))
    return polled(request, "memories/_try_answer.html", {"job": job, "name": name, "swap": True})
