"""Reset and Clear of a group: each names all members with their numbers before anything happens."""

from __future__ import annotations

import uuid
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from accounts.wording import number
from memories import editing, group_clearing, trash
from memories.group_page import GroupFrame
from memories.group_reading import read_again, read_group
from memories.memory_filters import is_uuid
from memories.reset_cost import cost_of_reading
from memories.views.groups import frame_of
from memories.views.saying import explained, say
from sync.models import Character, Group


def _chosen(request: PersonRequest, frame: GroupFrame) -> list[Character]:
    wanted = set(request.POST.getlist("member"))
    found = [one for one in frame.roster.characters if str(one.pk) in wanted]
    if not found:
        raise ValueError(_("Choose at least one member. Nothing was changed."))
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def clear(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Take the members' memories from this group's chats away, or all of theirs when `everything` says so."""
    frame = frame_of(request, group_id)
    if request.method == "POST":
        with explained(request):
            _clear(request, frame)
        return redirect("memories:group", frame.group.pk)
    losses = group_clearing.losses(request.user, frame.group, frame.roster.characters)
    context = {
        "group": frame,
        "tab": "memories",
        "losses": losses,
        "here": sum(one.here for one in losses),
        "everything": sum(one.everything for one in losses),
        "days": trash.KEPT.days,
    }
    return render(request, "memories/group_clear.html", context)


def _clear(request: PersonRequest, frame: GroupFrame) -> None:
    everything = request.POST.get("what") == "everything"
    done = group_clearing.clear(request.user, frame.group, _chosen(request, frame), everything=everything)
    if not done.memories:
        messages.info(request, _("There was nothing to clear."))
        return
    text = ngettext(
        "%(n)s memory cleared. It stays in the trash for %(days)s days.",
        "%(n)s memories cleared. They stay in the trash for %(days)s days.",
        done.memories,
    )
    undo = f"{reverse('memories:group_undo', args=[frame.group.pk])}?batch={done.batch}"
    say(request, text % {"n": number(done.memories), "days": trash.KEPT.days}, undo)


@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Count this group's chats as not read for the chosen members; memories stay."""
    frame = frame_of(request, group_id)
    if request.method == "POST":
        with explained(request):
            members = _chosen(request, frame)
            count = read_again(request.user, frame.group, members)
            if "now" in request.POST:
                read_group(request.user, frame.group, members)
            text = ngettext("%(n)s message is to be read again.", "%(n)s messages are to be read again.", count)
            say(request, text % {"n": number(count)})
        return redirect("memories:group", frame.group.pk)
    cost = cost_of_reading(request.user, group=frame.group, again=True)
    return render(request, "memories/group_reset.html", {"group": frame, "tab": "members", "cost": cost})


@require_POST
def undo(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Bring back what one Clear took from all members."""
    group = owned(Group, request, pk=group_id)
    batch = request.GET.get("batch", "")
    with explained(request):
        if not is_uuid(batch) or not editing.undo_batch(request.user, uuid.UUID(batch)):
            raise ValueError(_("There is nothing to take back."))
        say(request, _("Taken back."))
    return redirect("memories:group", group.pk)
