"""The layout of a character's memory file: choose, look at the file and its chunks, save."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest, owned
from memories import layouts
from memories.blocks import Format
from memories.character_frame import character_frame
from memories.file_state import format_of
from memories.layout_form import LayoutForm
from memories.models import MemoryFile
from memories.views.blocks import undo_url
from memories.views.files import chosen_file, named_file
from memories.views.saying import explained, say
from sync.models import Character


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """How the file is written; a GET with a choice shows it without changing anything."""
    character = owned(Character, request, pk=character_id)
    file = named_file(request, character)
    found = format_of(file) if file else Format()
    if request.method == "POST":
        form = LayoutForm(request.POST, found=found)
        if form.is_valid():
            return _save(request, character, form)
        return _show(request, character, file, form, status=422)
    form = LayoutForm(request.GET if "layout" in request.GET else None, found=found)
    return _show(request, character, file, form)


def _save(request: PersonRequest, character: Character, form: LayoutForm) -> HttpResponse:
    file = chosen_file(request, character)
    one = f"?file={file.pk}" if file.chat_id else ""
    with explained(request):
        revision = layouts.change_layout(request.user, file, form.chosen, only_new=form.only_new)
        if revision is None:
            say(request, _("It is written like that already. Nothing was changed."))
        else:
            say(request, _("Written anew. The file in SillyTavern and its index follow."), undo_url(file))
    return redirect(f"{reverse('memories:layout', args=[character.pk])}{one}")


def _show(
    request: PersonRequest, character: Character, file: MemoryFile | None, form: LayoutForm, status: int = 200
) -> HttpResponse:
    vectors = character.tavern.vectors
    context = {
        "hero": character_frame(request.user, character),
        "tab": "settings",
        "form": form,
        "file": file,
        "is_look": form.is_bound and form.chosen != form.found,
        "preview": layouts.preview(file, form.chosen, vectors, only_new=form.only_new),
        "is_mixed": file is not None and file.blocks.filter(form__isnull=False).exists(),
        "choices": _choices(),
        "measured": {one.key: one for one in layouts.MEASURED},
        "wishes": layouts.wishes(vectors),
    }
    return render(request, "memories/layout.html", context, status=status)


def _choices() -> list[tuple[str, str, str]]:
    return [
        ("bullet", _("A blank line between memories"), _("Each memory can be found on its own. Measured best.")),
        ("block", _("One block after another"), _("A scene stays together. What older extensions write.")),
        ("custom", _("Own separator between blocks"), _("A scene is a chunk when Vector Storage cuts there.")),
    ]
