"""Editing a memory file: the page, undo and redo, save and leave. Nothing is written to the file before Save."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import drafts
from memories.character_frame import character_frame
from memories.draft_cards import cards, page_of, parts_on
from memories.memory_list import facets
from memories.models import Draft, Revision
from memories.views.blocks import undo_save_url
from memories.views.editor_place import answer, bar, editing_url, held, latest_changes, place_in
from memories.views.files import chosen_file
from memories.views.saying import explained, say
from sync.models import Character


@require_safe
def open_edit(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Begin to edit the character's memories (or the file that `file` names), or go on where the person was."""
    character = owned(Character, request, pk=character_id)
    draft = drafts.open_edit(request.user, chosen_file(request, character))
    return redirect(f"{editing_url(draft)}{_same_filters(request.GET)}")


def _same_filters(query: QueryDict) -> str:
    """What was filtered on the character's page stays filtered."""
    kept = query.copy()
    kept.pop("file", None)
    return f"?{kept.urlencode()}" if kept else ""


@require_safe
def page(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """The edit as cards; an edit that is over leads to what became of it."""
    draft = held(request, draft_id, is_open=False)
    if draft.state != Draft.State.OPEN:
        return _over(request, draft)
    if draft.kind != Draft.Kind.EDIT and (url := _review_url(draft)):
        return redirect(url)
    return render(request, "memories/draft.html", _context(request, draft))


def _context(request: PersonRequest, draft: Draft) -> dict[str, Any]:
    place = place_in(request.GET, request.get_full_path())
    view = drafts.view(draft)
    shown = page_of(view, place.filters, newest=place.newest, number=place.number)
    hero = character_frame(request.user, draft.file.character)
    return bar(draft, view) | {
        "hero": hero,
        "tab": "memories",
        "place": place,
        "filters": place.filters,
        "facets": facets(request.user, hero.character, place.filters, hero.outlines),
        "cards": cards(draft, view, parts_on(shown), place.filters),
        "page": shown,
        "is_all_chosen": "all" in request.GET,
        "flags": flag_choices(),
    }


def flag_choices() -> list[tuple[str, str]]:
    """What bullets can be marked as, for the filter."""
    return [
        ("unverified", _("Unverified")),
        ("duplicates", _("Possible duplicate")),
        ("changed", _("Source changed")),
        ("locked", _("Locked")),
    ]


def _over(request: PersonRequest, draft: Draft) -> HttpResponse:
    if draft.state == Draft.State.SAVED:
        messages.info(request, _("That edit was saved as revision %(n)s.") % {"n": draft.revision})
    else:
        messages.info(request, _("That edit was left without saving."))
    return redirect("memories:character", draft.file.character_id)


def _review_url(draft: Draft) -> str:
    """The page on which the draft of a proposal is reviewed."""
    proposal = getattr(draft, "proposal", None)
    return reverse("memories:proposal", args=[proposal.pk]) if proposal else ""


@require_POST
def undo(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Take the last step back."""
    draft = held(request, draft_id)
    changes = latest_changes(draft, draft.pointer)
    label = drafts.undo(draft)
    said = _("Undone: %(what)s") % {"what": label} if label else _("There is nothing to undo.")
    return answer(request, draft, changes if label else [], said=said)


@require_POST
def redo(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Do the step again that was undone last."""
    draft = held(request, draft_id)
    changes = latest_changes(draft, draft.pointer + 1)
    label = drafts.redo(draft)
    said = _("Done again: %(what)s") % {"what": label} if label else _("There is nothing to do again.")
    return answer(request, draft, changes if label else [], said=said)


@require_POST
def save(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Make one revision of all steps; blocks that changed on both sides are put to the person first."""
    draft = held(request, draft_id)
    return save_draft(request, draft)


def save_draft(request: PersonRequest, draft: Draft) -> HttpResponse:
    """Save and go to the character, or to the page that asks about what changed on both sides."""
    try:
        with explained(request):
            revision = drafts.save(draft)
            _tell(request, draft, revision)
            return redirect("memories:character", draft.file.character_id)
    except drafts.MergeNeeded:
        return redirect("memories:draft_merge", draft.pk)
    return redirect(editing_url(draft))


def _tell(request: PersonRequest, draft: Draft, revision: Revision | None) -> None:
    if revision is None:
        messages.info(request, _("Nothing was changed, so nothing was saved."))
        return
    saved = _("Saved as revision %(n)s.") % {"n": revision.number}
    if revision.file_id != draft.file_id:
        saved = _("Saved with %(name)s.") % {"name": revision.file.character.name}
    say(request, " ".join([saved, *drafts.saved_notes(draft)]), undo_save_url(draft.file, revision))


@require_POST
def leave(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """End the edit without saving. The steps are kept: the toast goes on with it."""
    draft = held(request, draft_id)
    count = drafts.view(draft).changes
    drafts.leave(draft)
    if count:
        text = ngettext("Left without saving %(n)s change.", "Left without saving %(n)s changes.", count)
        say(request, text % {"n": count}, reverse("memories:draft_resume", args=[draft.pk]))
    return redirect("memories:character", draft.file.character_id)


@require_POST
def resume(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Go on with an edit that was left."""
    draft = owned(Draft, request, pk=draft_id)
    with explained(request):
        drafts.resume(draft)
        return redirect(editing_url(draft))
    return redirect("memories:character", draft.file.character_id)
