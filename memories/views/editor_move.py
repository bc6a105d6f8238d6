"""Move or copy chosen bullets: to another block, a new one, or the file of another character or chat."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest, owned
from accounts.models import User
from memories import drafts
from memories.blocks import clean_loose
from memories.draft_cards import whole
from memories.draft_view import DraftBlock, DraftMemory
from memories.memory_file import file_for
from memories.memory_filters import Filters
from memories.models import Draft, MemoryBlock, MemoryFile
from memories.views.editor_place import after_step, block_of, dialog, held, still_there
from memories.views.saying import explained
from sync.models import Character, Chat

SHOWN = 12


@dataclass(frozen=True)
class Destination:
    """One place to send to: `value` is "block:<id>", "file:<id>", "character:<id>", "chat:<id>" or "new"."""

    value: str
    name: str
    about: str = ""
    character: Character | None = None


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Choose a destination (`q` searches), then `do` moves or copies there."""
    draft = held(request, draft_id)
    view = drafts.view(draft)
    sent = request.POST if request.method == "POST" else request.GET
    rows = still_there(view, sent.getlist("memory"))
    if request.method == "POST" and sent.get("do") in ("move", "copy"):
        return _send(request, draft, view, rows)
    return ask(request, draft, rows)


def ask(request: PersonRequest, draft: Draft, rows: list[DraftMemory]) -> HttpResponse:
    """The dialog with its search."""
    query = clean_loose(request.POST.get("q") or request.GET.get("q", "")).strip()
    view = drafts.view(draft)
    is_search = request.htmx and request.htmx.target == "places"
    return dialog(
        request,
        "memories/_draft_places.html" if is_search else "memories/_draft_move.html",
        draft,
        rows=rows,
        query=query,
        here=_blocks(draft, view, query),
        elsewhere=elsewhere(request.user, draft.file, query),
    )


def _send(request: PersonRequest, draft: Draft, view: drafts.DraftView, rows: list[DraftMemory]) -> HttpResponse:
    todo, target = request.POST["do"], request.POST.get("target", "")
    is_copy = todo == "copy"
    kind, _colon, pk = target.partition(":")
    block = block_of(view, pk) if kind == "block" else None
    file = _file(request, kind, pk)
    before = draft.pointer
    with explained(request), drafts.step(draft, _label(is_copy, len(rows))) as editor:
        if not rows or not kind:
            raise ValueError(_("Choose memories and a place for them first."))
        _carry(editor, [row.id for row in rows], block, file, is_copy=is_copy, draft=draft)
    said = ""
    if file:
        said = _("They arrive with %(name)s when you save.") % {"name": file.character.name}
    return after_step(request, draft, before, said=said)


def _carry(
    editor: drafts.DraftEditor,
    ids: list[UUID],
    block: DraftBlock | None,
    file: MemoryFile | None,
    *,
    is_copy: bool,
    draft: Draft,
) -> None:
    if file is not None and file.pk != draft.file_id:
        editor.send_memories(ids, file, copy=is_copy)
    elif block is not None:
        (editor.copy_memories if is_copy else editor.move_memories)(ids, block.id)
    else:
        _to_new_block(editor, ids, drafts.view(draft), is_copy=is_copy)


def _to_new_block(editor: drafts.DraftEditor, ids: list[UUID], view: drafts.DraftView, *, is_copy: bool) -> None:
    """A block of their own, with the label of the block that the first one stood in."""
    former = view.block(view.memory(ids[0]).block_id)
    origin = former.origin or MemoryBlock.Origin.WRITTEN
    made = editor.add_block(former.label, ["…"], date=former.date, origin=origin)
    assert made is not None  # noqa: S101  it has a bullet
    (editor.copy_memories if is_copy else editor.move_memories)(ids, made)
    placeholder = editor.rows.bullet_places(made)[0][2]
    editor.delete_memories([placeholder])


def _file(request: PersonRequest, kind: str, pk: str) -> MemoryFile | None:
    """The person's file that a destination names, or 404."""
    try:
        if kind == "character":
            return file_for(owned(Character, request, pk=UUID(pk)))
        if kind == "file":
            return owned(MemoryFile, request, pk=UUID(pk))
        if kind == "chat":
            chat = owned(Chat, request, pk=UUID(pk), character__isnull=False)
            return file_for(owned(Character, request, pk=chat.character_id), chat)
    except ValueError as wrong:
        raise Http404 from wrong
    return None


def _blocks(draft: Draft, view: drafts.DraftView, query: str) -> list[Destination]:
    """Blocks of this file, the newest first."""
    shown = SHOWN if query else SHOWN // 2
    ids = [pk for pk, _n in view.listing(Filters(text=query) if query else Filters())][:shown]
    return [Destination(f"block:{card.block.id}", card.title, card.block.date) for card in whole(draft, view, ids)]


def elsewhere(user: User, file: MemoryFile, query: str) -> list[Destination]:
    """Other characters of the person, files that belong to one chat, and chats that have none yet."""
    people = Character.objects.for_user(user).filter(gone_at=None)
    if file.chat_id is None:
        people = people.exclude(pk=file.character_id)
    files = MemoryFile.objects.for_user(user).filter(chat__isnull=False).exclude(pk=file.pk)
    if query:
        people = people.filter(name__icontains=query)
        files = files.filter(chat__name__icontains=query) | files.filter(character__name__icontains=query)
    found = [Destination(f"character:{one.pk}", one.name, character=one) for one in people.order_by("name")[:SHOWN]]
    for one in files.select_related("chat", "character").order_by("name")[:SHOWN]:
        found.append(
            Destination(f"file:{one.pk}", one.character.name, one.chat.name if one.chat else "", one.character)
        )
    return found + _chats(user, file, query)


def _chats(user: User, file: MemoryFile, query: str) -> list[Destination]:
    """Chats without a file of their own: the newest of this character, or those of anybody that fit."""
    rows = Chat.objects.for_user(user).filter(gone_at=None, character__gone_at=None, memory_files__isnull=True)
    rows = rows.filter(name__icontains=query) if query else rows.filter(character=file.character_id)
    rows = rows.exclude(character=None).select_related("character").order_by("-last_at", "name")
    shown = rows[: SHOWN if query else SHOWN // 2]
    return [
        Destination(f"chat:{one.pk}", one.character.name, one.name, one.character) for one in shown if one.character
    ]


def _label(is_copy: bool, count: int) -> str:
    if is_copy:
        return ngettext("%(n)s memory copied", "%(n)s memories copied", count) % {"n": count}
    return ngettext("%(n)s memory moved", "%(n)s memories moved", count) % {"n": count}
