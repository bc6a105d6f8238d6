"""One bullet in an edit: its words in place, and everything else that can be done to it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest
from memories import drafts
from memories.draft_cards import DraftBullet, notes_of
from memories.draft_view import DraftBlock, DraftMemory
from memories.forms import MAX_BULLET
from memories.models import Draft
from memories.views.editor_place import after_step, bar, block_of, dialog, held, memory_of, place_among, place_of
from memories.views.saying import explained


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: PersonRequest, draft_id: UUID, memory_id: UUID) -> HttpResponse:
    """Change the words in place. Further lines become bullets below; `cancel` shows the bullet as it is."""
    draft = held(request, draft_id)
    view = drafts.view(draft)
    memory = memory_of(view, memory_id)
    if request.method == "POST":
        return _write(request, draft, memory)
    if "cancel" in request.GET and request.htmx:
        return _row(request, draft, view, memory)
    return _form(request, draft, memory=memory, text=memory.text)


def _write(request: PersonRequest, draft: Draft, memory: DraftMemory) -> HttpResponse:
    lines = lines_of(request.POST.get("text", ""))
    if problem := _problem(lines):
        return _form(request, draft, memory=memory, text=request.POST.get("text", ""), problem=problem)
    before = draft.pointer
    with explained(request), drafts.step(draft, _("Wording: %(text)s") % {"text": brief(lines[0])}) as editor:
        editor.set_text(memory.id, lines[0])
        _below(editor, drafts.view(draft), memory, lines[1:])
    if len(lines) == 1 and request.htmx:
        view = drafts.view(draft)
        return _row(request, draft, view, memory_of(view, memory.id))
    return after_step(request, draft, before, anchor=f"m{memory.id}")


def _below(editor: drafts.DraftEditor, view: drafts.DraftView, memory: DraftMemory, lines: list[str]) -> None:
    """Further lines stand below the bullet, in their order."""
    rows = [str(row.id) for row in view.block(memory.block_id).memories] if lines else []
    place = rows.index(str(memory.id)) + 1 if lines else 0
    for number, line in enumerate(lines):
        editor.add_memory(memory.block_id, line, place + number)


def _row(request: PersonRequest, draft: Draft, view: drafts.DraftView, memory: DraftMemory) -> HttpResponse:
    """The bullet alone and the bar: what an edit of one bullet sends back."""
    bullet = DraftBullet(memory, notes_of(draft).get(str(memory.id), ""))
    context = bar(draft, view) | {
        "bullet": bullet,
        "in_block": view.block(memory.block_id),
        "swap": True,
        "place": place_of(request, draft),
    }
    return render(request, "memories/_draft_row_answer.html", context)


def _form(
    request: PersonRequest,
    draft: Draft,
    *,
    memory: DraftMemory | None = None,
    block: DraftBlock | None = None,
    text: str = "",
    problem: str = "",
) -> HttpResponse:
    context = {
        "draft": draft,
        "memory": memory,
        "in_block": block,
        "text": text,
        "problem": problem,
        "after": request.POST.get("after") or request.GET.get("after", ""),
        "character": draft.file.character,
        "max_length": MAX_BULLET,
        "next": request.POST.get("next", ""),
    }
    template = "memories/_draft_bullet_form.html" if request.htmx else "memories/draft_bullet.html"
    return render(request, template, context, status=422 if problem else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: PersonRequest, draft_id: UUID, block_id: UUID) -> HttpResponse:
    """Write bullets into a block, at its end or behind the one that `after` names, one a line."""
    draft = held(request, draft_id)
    view = drafts.view(draft)
    block = block_of(view, block_id)
    if "cancel" in request.GET and request.htmx:
        return render(request, "memories/_draft_add_link.html", {"draft": draft, "block": block})
    if request.method != "POST":
        return _form(request, draft, block=block)
    lines = lines_of(request.POST.get("text", ""))
    if problem := _problem(lines):
        return _form(request, draft, block=block, text=request.POST.get("text", ""), problem=problem)
    after = request.POST.get("after", "")
    rows = [str(row.id) for row in block.memories] if after else []
    place = rows.index(after) + 1 if after in rows else None
    before = draft.pointer
    with explained(request), drafts.step(draft, _("Added: %(text)s") % {"text": brief(lines[0])}) as editor:
        for number, line in enumerate(lines):
            editor.add_memory(block.id, line, None if place is None else place + number)
    return after_step(request, draft, before, anchor=f"b{block.id}")


DONE = {
    "up": lambda editor, memory, view: _shift(editor, memory, view, -1),
    "down": lambda editor, memory, view: _shift(editor, memory, view, 1),
    "lock": lambda editor, memory, view: editor.set_memories([memory.id], is_locked=True),
    "unlock": lambda editor, memory, view: editor.set_memories([memory.id], is_locked=False),
    "delete": lambda editor, memory, view: editor.delete_memories([memory.id]),
    "split": lambda editor, memory, view: editor.split_block(memory.block_id, memory.id),
}


@require_http_methods(["GET", "HEAD", "POST"])
def actions(request: PersonRequest, draft_id: UUID, memory_id: UUID) -> HttpResponse:
    """Move, lock, split, delete: a dialog, a page without JavaScript, and the address that dragging and keys post to.

    `do` is up, down, lock, unlock, delete, split, or place with `block` and `before` or `after` (a bullet of it).
    """
    draft = held(request, draft_id)
    view = drafts.view(draft)
    memory = memory_of(view, memory_id)
    if request.method != "POST":
        in_block = view.block(memory.block_id)
        return dialog(request, "memories/_draft_memory.html", draft, memory=memory, in_block=in_block)
    todo = request.POST.get("do", "")
    before = draft.pointer
    with explained(request), drafts.step(draft, _label(todo, memory.text)) as editor:
        if todo == "place":
            _put(editor, view, memory, request.POST)
        elif todo in DONE:
            DONE[todo](editor, memory, view)
    return after_step(request, draft, before, anchor=f"m{memory.id}")


def _shift(editor: drafts.DraftEditor, memory: DraftMemory, view: drafts.DraftView, step: int) -> None:
    """One place up or down among the bullets; the topic tag stays in front."""
    rows = list(view.block(memory.block_id).memories)
    topics = sum(1 for row in rows if row.is_topic)
    at = next(n for n, row in enumerate(rows) if row.id == memory.id)
    place = max(topics, min(len(rows) - 1, at + step))
    if place != at:
        editor.move_memories([memory.id], memory.block_id, place)


def _put(editor: drafts.DraftEditor, view: drafts.DraftView, memory: DraftMemory, wish: QueryDict) -> None:
    """In front of the bullet `before` or behind `after` of a block, which may be another one; else at its end."""
    block = block_of(view, wish.get("block", ""))
    rest = [str(row.id) for row in block.memories if row.id != memory.id]
    editor.move_memories([memory.id], block.id, place_among(rest, wish))


def _label(todo: str, text: str) -> str:
    names = {
        "lock": _("Locked: %(text)s"),
        "unlock": _("Unlocked: %(text)s"),
        "delete": _("Deleted: %(text)s"),
        "split": _("Block split at: %(text)s"),
    }
    return names.get(todo, _("Moved: %(text)s")) % {"text": brief(text)}


def brief(text: str, words: int = 6) -> str:
    """The first words, as labels of steps show them."""
    parts = text.split()
    return " ".join(parts[:words])[:80] + ("…" if len(parts) > words else "")


def lines_of(text: str) -> list[str]:
    """Each line that says something."""
    return [line for part in text.splitlines() if (line := " ".join(part.split()))]


def _problem(lines: list[str]) -> str:
    if not lines:
        return _("A memory needs some text.")
    longest = max(len(line) for line in lines)
    if longest <= MAX_BULLET:
        return ""
    text = ngettext("A memory has room for %(n)s character.", "A memory has room for %(n)s characters.", MAX_BULLET)
    return text % {"n": MAX_BULLET}
