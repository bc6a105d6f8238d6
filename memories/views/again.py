"""A stretch of a chat: what is there, what reading it would cost, and reading it again under a person's eyes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import again, drafts
from memories.again_page import AgainReview
from memories.again_range import Range, memories_from, range_of
from memories.chat_readers import Readers, readers_of
from memories.models import Draft, Proposal
from memories.proposals import UNDER_WAY
from memories.queries import reading_of
from memories.reading_start import start_reading
from memories.reset_cost import cost_of_reading
from memories.scopes import file_of_reading
from memories.views.blocks import undo_url
from memories.views.editor_place import bar
from memories.views.pace import keep_pace
from memories.views.proposal_run import run_context
from memories.views.reader_place import number_in, rail_place, reader_url
from memories.views.saying import explained, say
from sync.models import Chat

SHOWN = 60  # memories of the stretch on the page


@require_http_methods(["GET", "HEAD", "POST"])
def read_range(request: PersonRequest, chat_id: UUID) -> HttpResponse:
    """Messages `from` to `to`: read what is unread in them, or all of them again."""
    owned(Chat, request, pk=chat_id)
    chats = Chat.objects.for_user(request.user).select_related("character__tavern", "group", "parent", "tavern")
    chat = chats.get(pk=chat_id)
    asked = request.POST if request.method == "POST" else request.GET
    readers = readers_of(request.user, chat, asked.get("whose", ""))
    stretch = range_of(request.user, chat, number_in(asked, "from"), number_in(asked, "to"))
    if request.method == "POST" and (answer := _begun(request, readers, stretch)) is not None:
        return answer
    context = {
        "chat": chat,
        "readers": readers,
        "stretch": stretch,
        "character": None,
        "back": reader_url(request, chat),
        "rail_place": rail_place(chat),
    }
    if readers.chosen is not None:
        context |= _numbers(request, readers, stretch)
    return render(request, "memories/range.html", context)


def _begun(request: PersonRequest, readers: Readers, stretch: Range) -> HttpResponse | None:
    """Where to go after starting what the form asked for; None when it could not start."""
    chat, ends = stretch.chat, (stretch.first, stretch.last)
    with explained(request):
        if readers.chosen is None:
            raise ValueError(_("Nobody remembers this chat. Nothing was read."))
        keep_pace(request, "run")
        if request.POST.get("do") == "again":
            mode = request.POST.get("mode", again.REPLACE)
            proposal = again.start_again(request.user, stretch, readers.chosen.character, mode=mode)
            return redirect("memories:proposal", proposal.pk)
        start_reading(request.user, chat, readers.chosen.character, ends)
        numbers = {"first": stretch.first, "last": stretch.last}
        say(request, _("Reading #%(first)d to #%(last)d. Memories appear here as they are made.") % numbers)
        return redirect(reader_url(request, chat, stretch.first, whose=request.POST.get("whose", "")))
    return None


def _numbers(request: PersonRequest, readers: Readers, stretch: Range) -> dict[str, Any]:
    """What is in the stretch for the chosen reader, and what either way of reading it would cost."""
    assert readers.chosen is not None  # noqa: S101  the caller looked
    user, chat, character = request.user, stretch.chat, readers.chosen.character
    reading = reading_of(user, chat, character)
    inside = [n for n in reading.fresh if stretch.first <= reading.indices[n] <= stretch.last]
    unread = sum(reading.speaks[n] for n in inside)
    file = file_of_reading(character, chat, stretch.last, begins=False)
    file.owner = user
    olds = memories_from(user, file, stretch)
    ranges = {str(chat.pk): [stretch.first, stretch.last]}
    costs: dict[str, Any] = {"character": character, "chats": [chat], "ranges": ranges}
    open_ones = Proposal.objects.for_user(user).filter(kind=Proposal.Kind.REREAD, file=file)
    return {
        "character": character,
        "unread": unread,
        "read": stretch.speaking - unread,
        "olds": olds[:SHOWN],
        "old_count": len(olds),
        "fixed": sum(not one.is_replaceable for one in olds),
        "cost_unread": cost_of_reading(user, **costs),
        "cost_again": cost_of_reading(user, **costs, again=True),
        "open": open_ones.filter(state__in=(*UNDER_WAY, Proposal.State.READY)).first(),
    }


def page(request: PersonRequest, proposal: Proposal) -> HttpResponse:
    """One reading, wherever it stands: at work, broken off, or waiting for its review."""
    draft = proposal.draft
    if proposal.state == Proposal.State.READY and draft is not None and draft.state == Draft.State.SAVED:
        again.settle(request.user, proposal)  # it was saved on the page of a merge
    if proposal.state in (Proposal.State.READY, Proposal.State.APPLIED) and draft is not None:
        return _review(request, proposal, draft)
    context = run_context(request, proposal) | {"choose_again": range_url(proposal)}
    return render(request, "memories/range_run.html", context)


def _review(request: PersonRequest, proposal: Proposal, draft: Draft) -> HttpResponse:
    draft.file, draft.owner = proposal.file, request.user
    review = AgainReview(proposal, draft)
    context = {
        **run_context(request, proposal),
        "review": review,
        "is_open": proposal.state == Proposal.State.READY and draft.state == Draft.State.OPEN,
        "range_url": range_url(proposal),
        "place": {"url": reverse("memories:proposal", args=[proposal.pk]), "is_list": False},
        **bar(draft, review.view),
    }
    return render(request, "memories/range_review.html", context)


def range_url(proposal: Proposal) -> str:
    """The page on which the same stretch is chosen."""
    params = proposal.params
    where = reverse("memories:read_range", args=[params["chat"]])
    return f"{where}?from={params['first']}&to={params['last']}&whose={params['character']}"


@require_POST
def choose(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Replace or add; or keep one old memory, or let it go with the others."""
    proposal = owned(Proposal, request, pk=proposal_id)
    with explained(request):
        if "mode" in request.POST:
            again.choose_mode(proposal, request.POST["mode"])
        for name, is_kept in (("keep", True), ("let_go", False)):
            if ids := request.POST.getlist(name):
                again.keep(proposal, ids, is_kept=is_kept)
    return redirect(f"{reverse('memories:proposal', args=[proposal.pk])}#olds")


@require_POST
def apply(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """One revision of the file; the stretch counts as read by it."""
    proposal = owned(Proposal, request, pk=proposal_id)
    file = proposal.file
    try:
        with explained(request):
            revision = again.apply(request.user, proposal)
            if revision is None:
                say(request, _("No memory was changed. The stretch counts as read."))
            else:
                notes = drafts.saved_notes(proposal.draft) if proposal.draft else []
                text = " ".join([_("Applied as revision %(n)s.") % {"n": revision.number}, *notes])
                say(request, text, undo_url(file))
            return redirect("memories:character", file.character_id)
    except drafts.MergeNeeded:
        messages.info(request, _("Somebody changed the same blocks meanwhile. Choose, then it is saved."))
        return redirect("memories:draft_merge", proposal.draft_id)
    return redirect("memories:proposal", proposal.pk)
