"""Everything that can be done to several chosen bullets at once; each is one step."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from accounts.access import PersonRequest
from memories import drafts
from memories.draft_view import DraftMemory
from memories.models import Draft
from memories.views import editor_move
from memories.views.editor_place import after_step, answer, dialog, held, still_there
from memories.views.saying import explained


@require_POST
def act(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """`do` is lock, unlock, delete, move, merge or label; `memory` the chosen bullets.

    Merging and labelling ask for words first: without `text` they answer with the dialog.
    """
    draft = held(request, draft_id)
    rows = still_there(drafts.view(draft), request.POST.getlist("memory"))
    todo = request.POST.get("do", "")
    if not rows:
        with explained(request):
            raise ValueError(_("Choose memories first."))
        return answer(request, draft, [])
    if todo == "move":
        return editor_move.ask(request, draft, rows)
    if todo in ("merge", "label") and "text" not in request.POST:
        return _ask(request, draft, todo, rows)
    before = draft.pointer
    with explained(request), drafts.step(draft, _label(todo, len(rows))) as editor:
        _do(editor, todo, rows, request.POST.get("text", ""))
    return after_step(request, draft, before)


def _do(editor: drafts.DraftEditor, todo: str, rows: list[DraftMemory], text: str) -> None:
    ids = [row.id for row in rows]
    if todo in ("lock", "unlock"):
        editor.set_memories(ids, is_locked=todo == "lock")
    elif todo == "delete":
        editor.delete_memories(ids)
    elif todo == "merge":
        editor.merge_memories(ids, text)
    elif todo == "label":
        if not text.strip():
            raise ValueError(_("A label needs some text."))
        for block in dict.fromkeys(str(row.block_id) for row in rows):
            editor.set_block(block, label=text)


def _ask(request: PersonRequest, draft: Draft, todo: str, rows: list[DraftMemory]) -> HttpResponse:
    view = drafts.view(draft)
    blocks = [view.block(pk) for pk in dict.fromkeys(str(row.block_id) for row in rows)]
    text = " ".join(row.text for row in rows) if todo == "merge" else blocks[0].label
    return dialog(request, f"memories/_draft_{todo}_chosen.html", draft, rows=rows, blocks=blocks, text=text)


def _label(todo: str, count: int) -> str:
    names = {
        "lock": ngettext("%(n)s memory locked", "%(n)s memories locked", count),
        "unlock": ngettext("%(n)s memory unlocked", "%(n)s memories unlocked", count),
        "delete": ngettext("%(n)s memory deleted", "%(n)s memories deleted", count),
        "merge": ngettext("%(n)s memory merged", "%(n)s memories merged into one", count),
        "label": ngettext("Label of %(n)s memory", "Label of %(n)s memories", count),
    }
    return names.get(todo, _("Changed")) % {"n": count}
