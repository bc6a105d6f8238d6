"""Blocks that an edit and somebody else changed: side by side, the person chooses, then it is saved."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import PersonRequest
from memories import drafts
from memories.character_frame import character_frame
from memories.merge_page import merge_cards
from memories.models import Draft
from memories.views.editor import save_draft
from memories.views.editor_place import editing_url, held
from memories.views.saying import explained


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Ask about each block; `choice-<block>` is mine, theirs or both."""
    draft = held(request, draft_id)
    merge = drafts.merge_of(draft)
    if request.method == "POST":
        with explained(request):
            _choose(request, draft, [block.id for block in merge.blocks])
            return save_draft(request, draft)
        return redirect("memories:draft_merge", draft.pk)
    if not merge.blocks:
        messages.info(request, _("Nothing was changed on both sides. You can save."))
        return redirect(editing_url(draft))
    draft.file.refresh_from_db(fields=["version"])
    context = {
        "hero": character_frame(request.user, draft.file.character),
        "tab": "memories",
        "draft": draft,
        "cards": merge_cards(merge),
        "meanwhile": draft.file.revisions.filter(number__gt=draft.base_version).select_related("job", "author")[:5],
        "next_number": draft.file.version + 1,
    }
    return render(request, "memories/draft_merge.html", context)


def _choose(request: PersonRequest, draft: Draft, ids: list[str]) -> None:
    seen = request.POST.get("seen", "")
    for block_id in ids:
        if choice := request.POST.get(f"choice-{block_id}"):
            drafts.choose(draft, block_id, choice, seen=int(seen) if seen.isdecimal() else None)
