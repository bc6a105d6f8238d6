"""The review queues of a character: memories to check, and pairs to decide, with one key each."""

from __future__ import annotations

from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import held_page, review_queries, reviewing, source_changes
from memories.again_changed import changed_stretches, stretches_of
from memories.ancestry import ancestry
from memories.character_frame import character_frame
from memories.evidence_page import source_rows
from memories.models import ReviewPair
from memories.views.blocks import undo_url
from memories.views.bullets import held
from memories.views.saying import back, explained, say
from sync.models import Character


@require_safe
def page(request: PersonRequest, character_id: UUID, kind: str) -> HttpResponse:
    """One queue, at most fifty rows a page."""
    character = owned(Character, request, pk=character_id)
    if kind not in review_queries.KINDS:
        raise Http404
    waiting = review_queries.counts(request.user, character)
    context = {
        "hero": character_frame(request.user, character),
        "tab": "memories",
        "character": character,
        "kind": kind,
        "queues": [(one, waiting.of(one)) for one in review_queries.KINDS],
        "waiting": waiting.of(kind),
        "is_behind": review_queries.is_behind(request.user, character),
    }
    number = request.GET.get("page")
    if kind == "held":
        context |= held_page.context(request.user, character, request.GET.get("check", ""), number)
    elif kind in review_queries.PAIR_KINDS:
        rows = review_queries.pairs_to_check(request.user, character, kind, number)
        context |= {"page": rows, "pairs": review_queries.pair_rows(request.user, list(rows))}
    else:
        rows_to_check = review_queries.memories_to_check(request.user, character, kind, number)
        context |= {"page": rows_to_check}
        if kind == "changed":
            context |= {
                "stretches": changed_stretches(request.user, character),
                "stretch_of": stretches_of(request.user, rows_to_check),
            }
    return render(request, "memories/review.html", context)


@require_POST
def decide(request: PersonRequest, pair_id: UUID) -> HttpResponse:
    """One pair; `decision` is older, newer, both, merged (with `text`) or unrelated."""
    pair = owned(ReviewPair, request, pk=pair_id)
    with explained(request):
        decision = request.POST.get("decision", "")
        revision = reviewing.decide(request.user, pair, decision, request.POST.get("text", ""))
        undo = reverse("memories:undo_decision", args=[pair.pk])
        say(request, _said(decision), f"{undo}?revision={revision.number}" if revision else undo)
    return _back_to_queue(request, pair)


@require_POST
def undo(request: PersonRequest, pair_id: UUID) -> HttpResponse:
    """Open a pair again and take its revision back."""
    pair = owned(ReviewPair, request, pk=pair_id)
    number = request.GET.get("revision", "")
    with explained(request):
        reviewing.undo(request.user, pair, int(number) if number.isdecimal() and len(number) < 10 else None)
        say(request, _("Undone. The pair waits here again."))
    return _back_to_queue(request, pair)


@require_POST
def mark_right(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """An unverified memory is right."""
    memory = held(request, memory_id)
    with explained(request):
        if reviewing.mark_right(request.user, memory):
            say(request, _("Noted: it is right."), undo_url(memory.block.file))
    return back(request, "memories:review", memory.block.file.character_id, "unverified")


@require_POST
def still_right(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """A memory holds although its message was changed or deleted."""
    memory = held(request, memory_id)
    with explained(request):
        if source_changes.still_right(request.user, memory):
            say(request, _("Noted: it still holds."), undo_url(memory.block.file))
    return back(request, "memories:review", memory.block.file.character_id, "changed")


@require_safe
def sources(request: PersonRequest, memory_id: UUID) -> HttpResponse:
    """Everything that one memory replaced, with its messages, fifty to a page."""
    memory = held(request, memory_id)
    found = ancestry(request.user, memory)
    page_of = Paginator(found.sources, review_queries.PAIRS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "memory": memory,
        "character": memory.block.file.character,
        "page": page_of,
        "rows": source_rows(request.user, list(page_of)),
        "missing": found.missing,
    }
    return render(request, "memories/sources.html", context)


def _back_to_queue(request: PersonRequest, pair: ReviewPair) -> HttpResponse:
    kind = next(name for name, value in review_queries.PAIR_KINDS.items() if value == pair.kind)
    return back(request, "memories:review", pair.file.character_id, kind)


def _said(decision: str) -> str:
    return {
        reviewing.OLDER: _("Kept the older one."),
        reviewing.NEWER: _("Kept the newer one."),
        reviewing.BOTH: _("Kept both."),
        reviewing.MERGED: _("Made one of the two."),
        reviewing.UNRELATED: _("Noted: they have nothing to do with each other."),
    }[decision]
