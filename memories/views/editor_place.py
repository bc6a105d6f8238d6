"""Where in an edit a person stands, and the fragments that bring that place up to date after a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.access import PersonRequest
from memories import drafts
from memories.draft_cards import cards, page_of, parts_on
from memories.draft_view import DraftBlock, DraftMemory
from memories.file_editor import NotInFile
from memories.memory_filters import Filters, is_uuid, read_filters
from memories.memory_list import Part
from memories.models import Draft, DraftStep
from memories.views.saying import page_behind

Row = TypeVar("Row", DraftMemory, DraftBlock)


@dataclass(frozen=True)
class Place:
    """The list that is on the screen: filters, order, page. `is_list` is False on a page of another kind."""

    filters: Filters = field(default_factory=Filters)
    newest: bool = True
    number: str = "1"
    is_list: bool = True
    url: str = ""


def held(request: PersonRequest, draft_id: UUID, *, is_open: bool = True) -> Draft:
    """The person's draft with its file and character, or 404; `is_open`: only while it is open."""
    rows = Draft.objects.for_user(request.user).select_related("file__character__tavern", "file__chat")
    draft = get_object_or_404(rows, pk=draft_id, **({"state": Draft.State.OPEN} if is_open else {}))
    draft.owner = draft.file.owner = request.user
    return draft


def memory_of(view: drafts.DraftView, memory_id: UUID | str) -> DraftMemory:
    """The bullet as the draft has it, or 404."""
    return _found(view.memory, memory_id)


def block_of(view: drafts.DraftView, block_id: UUID | str) -> DraftBlock:
    """The block as the draft has it, or 404."""
    return _found(view.block, block_id)


def _found(read: Callable[[UUID | str], Row], row_id: UUID | str) -> Row:
    try:
        return read(row_id)
    except NotInFile as gone:
        raise Http404(str(gone)) from gone


def still_there(view: drafts.DraftView, ids: Iterable[str]) -> list[DraftMemory]:
    """The bullets with these ids that the draft has, in the order of the ids."""
    return list(view.memories(one for one in dict.fromkeys(ids) if is_uuid(one)))


def place_among(rest: list[str], wish: QueryDict) -> int:
    """Where something shall stand among `rest`: in front of `before`, behind `after`, else at the end."""
    before, after = wish.get("before", ""), wish.get("after", "")
    if before in rest:
        return rest.index(before)
    return rest.index(after) + 1 if after in rest else len(rest)


def place_in(query: QueryDict, url: str) -> Place:
    """The place that an address of the editing page means."""
    return Place(read_filters(query), query.get("order") != "story", query.get("page", "1"), url=url)


def place_of(request: PersonRequest, draft: Draft) -> Place:
    """The page that the fragment is for: the editing page with its filters, or a page of another kind (a review)."""
    path, _mark, query = page_behind(request).partition("?")
    if path != editing_url(draft):
        return Place(is_list=False, url=path)
    return place_in(QueryDict(query.partition("#")[0]), f"{path}?{query}")


def editing_url(draft: Draft) -> str:
    return reverse("memories:draft", args=[draft.pk])


def back_to(request: PersonRequest, draft: Draft, anchor: str = "") -> HttpResponse:
    """Without JavaScript: to the page that the form was on, else to the editing page."""
    wanted = request.POST.get("next", "")
    is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    url = wanted if is_ours else editing_url(draft)
    return HttpResponseRedirect(f"{url.partition('#')[0]}#{anchor}" if anchor else url)


def dialog(request: PersonRequest, template: str, draft: Draft, **context: Any) -> HttpResponse:
    """A fragment in the modal, or a page around it; a form with errors comes back as 422."""
    form = context.get("form")
    context |= {
        "draft": draft,
        "character": draft.file.character,
        "dialog": template,
        "next": request.POST.get("next") or editing_url(draft),
    }
    status = 422 if form is not None and form.errors else 200
    return render(request, template if request.htmx else "memories/draft_dialog.html", context, status=status)


def bar(draft: Draft, view: drafts.DraftView) -> dict[str, Any]:
    """What the bar above an edit says: how many changes, what undo and redo would do, the number of the next save."""
    return {
        "draft": draft,
        "changes": max(0, view.changes - draft.floor),
        "undo_label": view.undo_label if draft.pointer > draft.floor else "",
        "redo_label": view.redo_label,
        "next_number": draft.file.version + 1,
    }


def latest_changes(draft: Draft, number: int) -> list[dict[str, Any]]:
    """The rows that step `number` changed."""
    steps = DraftStep.objects.for_user(draft.owner).filter(draft=draft, number=number)
    return next(iter(steps.values_list("changes", flat=True)), [])


def answer(
    request: PersonRequest, draft: Draft, changes: Iterable[dict[str, Any]], *, said: str = "", anchor: str = ""
) -> HttpResponse:
    """After a step: the touched cards and the bar for a page that asks with JavaScript, else back to the page.

    `changes` are those of the step (or of the step that was undone); blocks that came, went or moved bring the whole
    list, because everything below them shifts.
    """
    if not request.htmx:
        if said:
            messages.info(request, said)
        return back_to(request, draft, anchor)
    place = place_of(request, draft)
    view = drafts.view(draft)
    touched, is_structural = _touched(view, changes)
    context = bar(draft, view) | {"place": place, "swap": True, "said": said}
    if not place.is_list:
        if is_structural or len(touched) > 1:
            return _reload()
        context["touched"] = cards(draft, view, [Part(UUID(one)) for one in touched])
        return render(request, "memories/_draft_answer.html", context)
    page = page_of(view, place.filters, newest=place.newest, number=place.number)
    shown = parts_on(page)
    if is_structural:
        context |= {"cards": cards(draft, view, shown, place.filters), "page": page, "with_list": True}
    else:
        context["touched"] = cards(draft, view, [one for one in shown if str(one.block) in touched], place.filters)
    return render(request, "memories/_draft_answer.html", context)


def after_step(request: PersonRequest, draft: Draft, before: int, *, said: str = "", anchor: str = "") -> HttpResponse:
    """The answer to a step that was tried when the pointer stood at `before`; if it stands there, nothing changed."""
    changes = latest_changes(draft, draft.pointer) if draft.pointer != before else []
    return answer(request, draft, changes, said=said if changes else "", anchor=anchor)


def _reload() -> HttpResponse:
    return HttpResponse(headers={"HX-Refresh": "true"})


def _touched(view: drafts.DraftView, changes: Iterable[dict[str, Any]]) -> tuple[list[str], bool]:
    """(blocks whose cards look different, whether the list itself does)."""
    found: dict[str, None] = {}
    is_structural = False
    for change in changes:
        before, after = change["before"], change["after"]
        if change["row"] == "block":
            found[change["id"]] = None
            is_structural |= before is None or after is None or "order" in after
        elif change["row"] == "memory":
            found |= {str(row["block"]): None for row in (before, after) if row and "block" in row}
            if before is not None and after is not None and "block" not in after:
                with suppress(NotInFile):
                    found[str(view.memory(change["id"]).block_id)] = None
    return list(found), is_structural
