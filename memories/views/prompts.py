"""Pages about prompts: the list, one prompt's text, what changed in its default, its versions."""

from __future__ import annotations

import re
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories import own_prompts, prompt_pages, prompt_words
from memories.memory_list import is_uuid
from memories.models import PromptOverride
from memories.own_prompts import NoSuchPrompt
from memories.prompt_check import Problem
from memories.prompt_merge import CHOICES, Merge
from memories.prompt_pages import PromptPage
from memories.views.saying import explained, say
from providers.tokens import estimate_tokens
from sync.models import Character

VERSIONS_A_PAGE = 30


def page_of(request: PersonRequest, name: str, field: str = "character") -> PromptPage:
    """The prompt that the address names, for the character that `field` of the query or form names; else 404."""
    try:
        return prompt_pages.prompt_page(request.user, name, chosen_character(request, field))
    except NoSuchPrompt as error:
        raise Http404(str(error)) from error


def chosen_character(request: PersonRequest, field: str) -> Character | None:
    """The person's character that `field` names, None without one; 404 for anything else."""
    wanted = (request.POST.get(field) or request.GET.get(field) or "").strip()
    if not wanted:
        return None
    if not is_uuid(wanted):
        raise Http404(_("There is no such character."))
    return owned(Character, request, pk=wanted)


@require_safe
def overview(request: PersonRequest) -> HttpResponse:
    """All prompts by purpose, with what is in force."""
    context = {"groups": prompt_pages.groups(request.user)}
    return render(request, "memories/prompts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def text(request: PersonRequest, name: str) -> HttpResponse:
    """The text with its palette; saving makes a version, and a text with something missing is not saved."""
    page = page_of(request, name)
    if request.method == "POST":
        return _save(request, page, request.POST.get("text", "").replace("\r\n", "\n"))
    return _editor(request, page, page.own.text if page.own else page.in_force.text)


def _save(request: PersonRequest, page: PromptPage, typed: str) -> HttpResponse:
    found = prompt_pages.problems(page.name, typed)
    if any(one.is_error for one in found) or not typed.strip():
        return _editor(request, page, typed, found, is_refused=True)
    with explained(request):
        row = own_prompts.save_text(request.user, page.name, typed, page.character)
        say(request, _("Saved as version %(n)d. It is used from the next call on.") % {"n": row.number})
    return _to(page)


def _editor(
    request: PersonRequest,
    page: PromptPage,
    typed: str,
    found: list[Problem] | None = None,
    *,
    is_refused: bool = False,
) -> HttpResponse:
    found = prompt_pages.problems(page.name, typed) if found is None else found
    said = [prompt_words.say(one) for one in found]
    context = {
        "page": page,
        "tab": "text",
        "text": typed,
        "errors": [one for one in said if one.is_error],
        "hints": [one for one in said if not one.is_error],
        "is_refused": is_refused,
        "needs": prompt_pages.needs(page.name),
        "palette": prompt_pages.palette(page.name, typed),
        "characters": prompt_pages.characters(request.user),
        "words": len(typed.split()),
        "tokens": estimate_tokens(typed),
    }
    return render(request, "memories/prompt.html", context, status=422 if is_refused else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def changed(request: PersonRequest, name: str) -> HttpResponse:
    """The default of today beside the one that the person began from and their own text, place by place."""
    page = page_of(request, name)
    if request.method == "POST" and page.merge is not None:
        return _save_merge(request, page, page.merge)
    return render(request, "memories/prompt_changed.html", {"page": page, "tab": "changed", "places": _places(page)})


def _save_merge(request: PersonRequest, page: PromptPage, found: Merge) -> HttpResponse:
    chosen, own = _choices(request, found)
    try:
        merged = found.text(chosen, own)
    except ValueError:
        context = {"page": page, "tab": "changed", "places": _places(page, chosen, own), "is_refused": True}
        return render(request, "memories/prompt_changed.html", context, status=422)
    wrong = [one for one in prompt_pages.problems(page.name, merged) if one.is_error]
    if wrong:
        return _editor(request, page, merged, is_refused=True)
    with explained(request):
        row = own_prompts.save_text(request.user, page.name, merged, page.character, is_merged=True)
        say(request, _("Saved as version %(n)d, on the new default.") % {"n": row.number})
    return _to(page)


def _choices(request: PersonRequest, found: Merge) -> tuple[dict[int, str], dict[int, str]]:
    """What was chosen for each place, and the words that were written for it instead."""
    chosen: dict[int, str] = {}
    own: dict[int, str] = {}
    for place in found.places:
        choice = request.POST.get(f"place-{place.number}", "")
        if choice in CHOICES:
            chosen[place.number] = choice
        elif choice == "own":
            own[place.number] = request.POST.get(f"words-{place.number}", "")
    return chosen, own


def _places(
    page: PromptPage, chosen: dict[int, str] | None = None, own: dict[int, str] | None = None
) -> list[dict[str, Any]]:
    found = page.merge
    chosen, own = chosen or {}, own or {}
    return [
        {
            "place": place,
            "title": _title(place.mine or place.new or place.base),
            "mine": prompt_pages.pieces_of(place.base, place.mine),
            "new": prompt_pages.pieces_of(place.base, place.new),
            "base": prompt_pages.lost_pieces(place.base, place.mine, place.new),
            "choice": "own" if place.number in own else chosen.get(place.number, place.settled),
            "words": own.get(place.number, place.text("both")),
        }
        for place in (found.places if found else [])
    ]


def _title(words: str) -> str:
    """The first words of a place, without the number of a list."""
    head = re.sub(r"^(?:\d{1,3}[.)]|[-*•])\s+", "", words.strip()).split()
    return " ".join(head[:7]).rstrip(".,;:") + ("…" if len(head) > 7 else "")


@require_safe
def versions(request: PersonRequest, name: str) -> HttpResponse:
    """Every text that was saved here, newest first; the chosen one beside what is in force."""
    page = page_of(request, name)
    rows = own_prompts.versions(request.user, name, page.character)
    wanted = request.GET.get("version", "")
    chosen = rows.filter(pk=wanted).first() if is_uuid(wanted) else rows.first()
    before = rows.filter(number__lt=chosen.number).first() if chosen else None
    against = before.text if before else (chosen.base_text if chosen else "")
    context = {
        "page": page,
        "tab": "versions",
        "rows": Paginator(rows, VERSIONS_A_PAGE).get_page(request.GET.get("page")),
        "chosen": chosen,
        "before": before,
        "diff": prompt_pages.compared(against, chosen.text) if chosen else [],
    }
    return render(request, "memories/prompt_versions.html", context)


@require_POST
def restore(request: PersonRequest, version_id: Any) -> HttpResponse:
    """Put an earlier version back in force."""
    row = owned(PromptOverride, request, pk=version_id)
    former = own_prompts.own_of(request.user, row.name, row.character)
    own_prompts.activate(request.user, row)
    undo = reverse("memories:prompt_restore", args=[former.pk]) if former and former.pk != row.pk else ""
    say(request, _("Version %(n)d is in force again.") % {"n": row.number}, undo)
    return _to(row)


@require_POST
def use_default(request: PersonRequest, name: str) -> HttpResponse:
    """The shipped text from now on, also when it improves."""
    page = page_of(request, name)
    undo = reverse("memories:prompt_restore", args=[page.own.pk]) if page.own else ""
    with explained(request):
        if own_prompts.use_default(request.user, name, page.character):
            say(request, _("The default is used again. Your versions are kept."), undo)
    return _to(page)


@require_POST
def keep_mine(request: PersonRequest, name: str) -> HttpResponse:
    """The person has seen the new default and stays with their own text."""
    page = page_of(request, name)
    if page.own is not None:
        own_prompts.keep_mine(request.user, page.own)
        say(request, _("Your text stays. You are told when the default changes again."))
    return _to(page)


@require_POST
def new_strategy(request: PersonRequest) -> HttpResponse:
    """A consolidation strategy of the person's own, which begins as the balanced one."""
    try:
        made = own_prompts.create_strategy(request.user, request.POST.get("title", ""))
    except (ValueError, NoSuchPrompt) as error:
        context = {"groups": prompt_pages.groups(request.user), "error": str(error)}
        context["title"] = request.POST.get("title", "")
        return render(request, "memories/prompts.html", context, status=422)
    say(request, _("Made. It begins with the words of the balanced strategy."))
    return redirect("memories:prompt", made.name)


@require_POST
def rename(request: PersonRequest, name: str) -> HttpResponse:
    """Another title for a strategy."""
    page = page_of(request, name)
    with explained(request):
        own_prompts.rename_strategy(request.user, name, request.POST.get("title", ""))
        say(request, _("Renamed."))
    return _to(page)


@require_POST
def delete(request: PersonRequest, name: str) -> HttpResponse:
    """Offer a strategy no longer."""
    page = page_of(request, name)
    with explained(request):
        own_prompts.delete_strategy(request.user, name)
        undo = reverse("memories:prompt_bring_back", args=[name])
        say(request, _("“%(title)s” is deleted.") % {"title": page.title}, undo)
    return redirect("memories:prompts")


@require_POST
def bring_back(request: PersonRequest, name: str) -> HttpResponse:
    """Undo the deletion of a strategy."""
    try:
        row = own_prompts.bring_back(request.user, name)
    except NoSuchPrompt as error:
        raise Http404(str(error)) from error
    say(request, _("It is there again."))
    return _to(row)


def _to(place: PromptPage | PromptOverride) -> HttpResponse:
    """To the text of a prompt, for the same character."""
    address = reverse("memories:prompt", args=[place.name])
    return redirect(f"{address}?character={place.character.pk}" if place.character else address)
