"""Decisions about bullets that a check held back: one, all of a kind, and taking a decision back."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest, owned
from memories import held
from memories.memory_list import is_uuid
from memories.models import HeldMemory
from memories.review_queries import held_to_check
from memories.views.saying import back, explained, say
from sync.models import Character


@require_POST
def decide(request: PersonRequest, held_id: UUID) -> HttpResponse:
    """One bullet; `decision` is accept (as it is, or in other words: `text`) or refuse."""
    row = owned(HeldMemory, request, pk=held_id)
    with explained(request):
        decision = request.POST.get("decision", "")
        done = held.decide(request.user, [row], decision, request.POST.get("text"))
        said = _("Accepted: it is a memory now.") if decision == held.ACCEPT else _("Refused. It is not asked again.")
        say(request, said, _undo_url(row.file.character_id, done))
    return _back(request, row.file.character_id)


@require_POST
def decide_all(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """All that one `check` held back (without one: everything), at most held.AT_ONCE."""
    character = owned(Character, request, pk=character_id)
    check, decision = request.POST.get("check", ""), request.POST.get("decision", "")
    rows = [one for one in held_to_check(request.user, character) if not check or held.kind_of(one) == check]
    with explained(request):
        done = held.decide(request.user, rows, decision)
        say(request, _said(decision, done.count), _undo_url(character.pk, done))
    return _back(request, character.pk)


@require_POST
def undo(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """Take back what was decided at the moment `at`; `batch` names what it did to files."""
    character = owned(Character, request, pk=character_id)
    at, batch = _moment(request.GET.get("at", "")), request.GET.get("batch", "")
    with explained(request):
        if at is None or not is_uuid(batch):
            raise ValueError(_("There is nothing to undo."))
        held.undo(request.user, at, UUID(batch))
        say(request, _("Undone. It waits here again."))
    return _back(request, character.pk)


def _moment(text: str) -> datetime | None:
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _undo_url(character_id: UUID, done: held.Decided) -> str:
    query = urlencode({"at": done.at.isoformat(), "batch": str(done.batch)})
    return f"{reverse('memories:held_undo', args=[character_id])}?{query}"


def _said(decision: str, count: int) -> str:
    if decision == held.ACCEPT:
        return ngettext("%(n)d memory accepted.", "%(n)d memories accepted.", count) % {"n": count}
    return ngettext("%(n)d memory refused.", "%(n)d memories refused.", count) % {"n": count}


def _back(request: PersonRequest, character_id: UUID) -> HttpResponse:
    return back(request, "memories:review", character_id, "held")
