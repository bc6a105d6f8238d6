"""The list of groups and the pages of one group."""

from __future__ import annotations

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories.chat_page import tree
from memories.chosen import settings_of
from memories.group_list import group_tiles
from memories.group_members import set_asking
from memories.group_page import GroupFrame
from memories.group_reading import read_group
from memories.group_rows import behind, health_rows, memories_by_chat, sections
from memories.memory_filters import is_uuid
from memories.page_queries import total_unread
from memories.views.polled import polled
from memories.views.saying import back, explained, say
from sync.models import Character, Chat, Group, Tavern

GROUPS_A_PAGE = 60
CHATS_A_PAGE = 100


def frame_of(request: PersonRequest, group_id: UUID) -> GroupFrame:
    """The head of a group's pages; 404 when the group is somebody else's."""
    group = owned(Group, request, pk=group_id)
    return GroupFrame(request.user, Group.objects.for_user(request.user).select_related("tavern").get(pk=group.pk))


@require_safe
def groups(request: PersonRequest) -> HttpResponse:
    """All groups with their members, what they remember together, and what waits."""
    tiles = group_tiles(request.user)
    context = {
        "tiles": tiles,
        "page": Paginator(tiles, GROUPS_A_PAGE).get_page(request.GET.get("page")),
        "memories": sum(tile.memories for tile in tiles),
        "unread": total_unread(tile.unread for tile in tiles),
        "unknown": sum(1 for tile in tiles if tile.roster.unknown),
        "has_tavern": Tavern.objects.for_user(request.user).filter(unlinked_at=None).exists(),
        "interval": settings_of(request.user).interval,
    }
    return render(request, "memories/groups.html", context)


@require_safe
def page(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """One group: who remembers what, how far each has read, and who is not known."""
    frame = frame_of(request, group_id)
    return render(request, "memories/group.html", {"group": frame, "tab": "members"})


@require_safe
def live(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """What moves while the group is read: the head, and the table of members on its own page."""
    frame = frame_of(request, group_id)
    return polled(request, "memories/group_live.html", {"group": frame, "tab": request.GET.get("tab", "")})


@require_safe
def memories(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """The newest memories from this group's chats, one section for each member."""
    frame = frame_of(request, group_id)
    context = {"group": frame, "tab": "memories", "sections": sections(frame)}
    return render(request, "memories/group_memories.html", context)


@require_safe
def chats(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """The group's chats, branches below the chat they left, with what is read."""
    frame = frame_of(request, group_id)
    everything = list(Chat.objects.for_user(request.user).filter(group=frame.group).order_by("-last_at", "name"))
    late = behind(frame)
    unread = {pk: found[0].messages for pk, found in late.items()}
    rows = tree(everything, unread, memories_by_chat(request.user, frame.group))
    page = Paginator(rows, CHATS_A_PAGE).get_page(request.GET.get("page"))
    shown = [(row, late.get(row.chat.pk, [])) for row in page]
    context = {"group": frame, "tab": "chats", "rows": rows, "page": page, "shown": shown}
    return render(request, "memories/group_chats.html", context)


@require_safe
def health(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Whether each member's memories reach the prompt, and why not."""
    frame = frame_of(request, group_id)
    context = {"group": frame, "tab": "health", "rows": health_rows(frame)}
    return render(request, "memories/group_health.html", context)


@require_safe
def settings(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """How the members are asked, and the name of each member's file."""
    return render(request, "memories/group_settings.html", {"group": frame_of(request, group_id), "tab": "settings"})


@require_safe
def consolidate(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Whose memories are to be consolidated: nobody is chosen beforehand."""
    return render(request, "memories/group_consolidate.html", {"group": frame_of(request, group_id), "tab": "memories"})


@require_POST
def extract(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Read what is unread for all members, or for those that the form names."""
    group = owned(Group, request, pk=group_id)
    wanted = [pk for pk in request.POST.getlist("member") if is_uuid(pk)]
    members = [owned(Character, request, pk=pk) for pk in wanted] or None
    with explained(request):
        read_group(request.user, group, members)
    return back(request, "memories:group", group.pk)


@require_POST
def asking(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """How the members of this group are asked."""
    group = owned(Group, request, pk=group_id)
    with explained(request):
        calls, present_only = request.POST.get("group_calls", ""), "asks_present_only" in request.POST
        set_asking(request.user, group, calls=calls, present_only=present_only)
        say(request, _("Saved. It holds for this group from the next reading on."))
    return back(request, "memories:group", group.pk)
