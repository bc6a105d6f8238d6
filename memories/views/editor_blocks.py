"""One block in an edit: label, topic and date, and everything else that can be done to it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest
from memories import drafts
from memories.blocks import timestamp
from memories.draft_cards import whole
from memories.forms import BlockForm, LabelForm
from memories.local_time import local_now
from memories.models import Draft, MemoryBlock
from memories.views.editor_bullets import brief
from memories.views.editor_place import after_step, block_of, dialog, held, place_among, place_of
from memories.views.saying import explained


@require_http_methods(["GET", "HEAD", "POST"])
def add_block(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """A new block: its topic, and one memory a line. It stands at the end of the file, which is on top of the page."""
    draft = held(request, draft_id)
    form = BlockForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        lines = form.lines(draft.file.character.name)
        date = timestamp(local_now(request.user, timezone.now()))
        before = draft.pointer
        with explained(request), drafts.step(draft, _("Block added: %(text)s") % {"text": brief(lines[1])}) as editor:
            editor.add_block(form.cleaned_data["topic"], lines, date=date, origin=MemoryBlock.Origin.WRITTEN)
        return after_step(request, draft, before)
    return dialog(request, "memories/_draft_add_block.html", draft, form=form)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: PersonRequest, draft_id: UUID, block_id: UUID) -> HttpResponse:
    """Topic, people, label and date of a block."""
    draft = held(request, draft_id)
    view = drafts.view(draft)
    block = block_of(view, block_id)
    topic = next((row for row in block.memories if row.is_topic), None)
    form = LabelForm(request.POST or None, block=block, topic=topic, name=draft.file.character.name)
    if request.method == "POST" and form.is_valid():
        before = draft.pointer
        with explained(request), drafts.step(draft, _("Label: %(text)s") % {"text": form.brief()}) as editor:
            form.write(editor)
        return after_step(request, draft, before, anchor=f"b{block.id}")
    return dialog(request, "memories/_draft_label.html", draft, form=form, in_block=block)


@require_http_methods(["GET", "HEAD", "POST"])
def actions(request: PersonRequest, draft_id: UUID, block_id: UUID) -> HttpResponse:
    """Move, lock, merge, delete: a dialog, a page without JavaScript, and the address of dragging and keys.

    `do` is up, down (as the page shows the blocks), lock, unlock, delete, merge (with the block below it on the page),
    or place with `before` or `after`, a block of the list.
    """
    draft = held(request, draft_id)
    view = drafts.view(draft)
    block = block_of(view, block_id)
    card = whole(draft, view, [block.id])[0]
    if request.method != "POST":
        return dialog(request, "memories/_draft_block.html", draft, card=card, in_block=block)
    todo, before = request.POST.get("do", ""), draft.pointer
    order = on_page(view, draft, request)
    with explained(request), drafts.step(draft, _label(todo, card.title)) as editor:
        _do(editor, todo, str(block.id), order, request.POST, newest=_is_newest(request, draft))
    return after_step(request, draft, before, anchor=f"b{block.id}")


def _is_newest(request: PersonRequest, draft: Draft) -> bool:
    """Whether the page shows the newest first; without JavaScript the form says so."""
    if request.htmx:
        return place_of(request, draft).newest
    return "order=story" not in request.POST.get("next", "")


def on_page(view: drafts.DraftView, draft: Draft, request: PersonRequest) -> list[str]:
    """All blocks in the order of the page."""
    return [str(pk) for pk, _n in view.listing(newest=_is_newest(request, draft))]


def _do(
    editor: drafts.DraftEditor, todo: str, block_id: str, order: list[str], wish: QueryDict, *, newest: bool
) -> None:
    at = order.index(block_id)
    if todo in ("lock", "unlock"):
        editor.set_block(block_id, is_locked=todo == "lock")
    elif todo == "delete":
        editor.delete_block(block_id)
    elif todo == "merge" and at + 1 < len(order):
        editor.merge_blocks([block_id, order[at + 1]])
    elif todo in ("up", "down", "place"):
        rest = [one for one in order if one != block_id]
        place = _place(todo, at, rest, wish)
        _put(editor, block_id, rest, place, newest=newest)


def _place(todo: str, at: int, rest: list[str], wish: QueryDict) -> int:
    """Where on the page the block shall stand among the others."""
    if todo == "place":
        return place_among(rest, wish)
    return max(0, at - 1) if todo == "up" else min(len(rest), at + 1)


def _put(editor: drafts.DraftEditor, block_id: str, rest: list[str], place: int, *, newest: bool) -> None:
    """Positions of the page in file order, which is the other way round when the newest stand first."""
    if newest:
        editor.move_block(block_id, before=rest[place - 1] if place else None)
    else:
        editor.move_block(block_id, before=rest[place] if place < len(rest) else None)


def _label(todo: str, title: str) -> str:
    names = {
        "lock": _("Block locked: %(text)s"),
        "unlock": _("Block unlocked: %(text)s"),
        "delete": _("Block deleted: %(text)s"),
        "merge": _("Blocks merged: %(text)s"),
    }
    return names.get(todo, _("Block moved: %(text)s")) % {"text": brief(title)}
