"""Find and replace: over one file, one character, an open edit, or everything a person owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import editing, replacing
from memories.find_replace import Options, Refused
from memories.memory_filters import is_uuid
from memories.models import Draft, MemoryFile
from memories.replacing import MovedOn, Preview, Scope
from memories.views.saying import explained, say
from sync.models import Character

ROWS_A_PAGE = 200


@dataclass(frozen=True)
class Where:
    """One choice of the select: `value` is "" (everything), or character, file or draft with an id behind a colon."""

    value: str
    label: str


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest) -> HttpResponse:
    """What would be replaced, row by row; POST replaces exactly that."""
    query = request.POST if request.method == "POST" else request.GET
    wanted = _place(query)
    scope, options = _scope(request, wanted), _options(query)
    found, problem, status = Preview([]), "", 200
    try:
        if request.method == "POST":
            return _replace(request, scope, options)
        found = replacing.preview(request.user, scope, options)
    except MovedOn as moved:
        found, problem, status = moved.preview, str(moved), 409
    except Refused as refused:
        problem, status = replacing.sentence(refused), 422
    context = {
        "options": options,
        "found": found,
        "page": Paginator(found.rows, ROWS_A_PAGE).get_page(query.get("page")),
        "problem": problem,
        "where": wanted,
        "choices": _choices(request, scope, wanted),
        "draft": scope.draft,
        "is_everything": scope.draft is None and scope.files is None,
    }
    # A pattern is wrong while it is being typed: the sentence comes in place of the rows, not as a failed request.
    if request.htmx.target == "found":
        return render(request, "memories/_found.html", context)
    return render(request, "memories/replace.html", context, status=status)


def _replace(request: PersonRequest, scope: Scope, options: Options) -> HttpResponse:
    done = replacing.replace(request.user, scope, options, request.POST.get("digest", ""))
    text = ngettext("Replaced in %(n)s place.", "Replaced in %(n)s places.", done.places) % {"n": done.places}
    if done.deleted:
        gone = ngettext("%(n)s empty memory is deleted.", "%(n)s empty memories are deleted.", done.deleted)
        text = f"{text} {gone % {'n': done.deleted}}"
    if scope.draft is not None:
        say(request, text)
        return redirect("memories:draft", scope.draft.pk)
    say(request, text, f"{reverse('memories:undo_replace')}?batch={done.batch}" if done.places else "")
    query = QueryDict(mutable=True)
    query.update({"where": request.POST.get("where", ""), "find": options.find, "replace": options.replace})
    return redirect(f"{reverse('memories:replace')}?{query.urlencode()}")


@require_POST
def undo(request: PersonRequest) -> HttpResponse:
    """Take back what one Replace or one import did, in all its files."""
    batch = request.GET.get("batch", "")
    if not is_uuid(batch):
        raise Http404(_("There is no such page."))
    with explained(request):
        undone = editing.undo_batch(request.user, UUID(batch))
        say(request, _("Taken back.") if undone else _("There is nothing to take back."))
    return redirect("memories:characters" if request.GET.get("to") == "characters" else "memories:replace")


def _options(query: QueryDict) -> Options:
    return Options(
        query.get("find", ""),
        query.get("replace", ""),
        is_case_sensitive="case" in query,
        is_whole_words="words" in query,
        is_pattern="pattern" in query,
    )


def _place(query: QueryDict) -> str:
    """The chosen scope; other pages name theirs as ?draft=, ?file= or ?character=."""
    if "where" in query:
        return str(query["where"])
    named = (f"{kind}:{query[kind]}" for kind in ("draft", "file", "character") if query.get(kind))
    return next(named, "")


def _scope(request: PersonRequest, wanted: str) -> Scope:
    """The rows behind it, 404 when they are not the person's."""
    kind, _colon, pk = wanted.partition(":")
    if not wanted:
        return Scope()
    if not is_uuid(pk) or kind not in ("draft", "file", "character"):
        raise Http404(_("There is no such page."))
    if kind == "draft":
        return Scope(draft=owned(Draft, request, pk=pk, state=Draft.State.OPEN))
    if kind == "file":
        return Scope(files=(owned(MemoryFile, request, pk=pk),))
    character = owned(Character, request, pk=pk)
    files = MemoryFile.objects.for_user(request.user).filter(character=character).select_related("character", "chat")
    return Scope(files=tuple(files))


def _choices(request: PersonRequest, scope: Scope, wanted: str) -> list[Where]:
    """Everything, the characters with memories, and single files where a character has several."""
    if scope.draft is not None:
        return [Where(wanted, _("In this edit"))]
    files = MemoryFile.objects.for_user(request.user).select_related("character", "chat")
    of_character: dict[Any, list[MemoryFile]] = {}
    for file in files.order_by("character__name", "character", "created_at")[:1000]:
        of_character.setdefault(file.character_id, []).append(file)
    found = [Where("", _("In everything I own"))]
    for several in of_character.values():
        name = several[0].character.name
        found.append(Where(f"character:{several[0].character_id}", _("In the memories of %(name)s") % {"name": name}))
        if len(several) > 1:
            found += [Where(f"file:{file.pk}", _("Only in %(name)s") % {"name": file.name}) for file in several]
    return found
