"""Correct the list of a group's members: what each seat and each speaker stands for."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest, owned
from memories.group_members import Said, add_member, set_member
from memories.member_rules import ADDED
from memories.memory_filters import is_uuid
from memories.models import MemberChoice
from memories.views.groups import frame_of
from memories.views.saying import back, explained, say
from sync.models import Character, Group

BY_ITSELF = "itself"


@require_safe
def page(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Every seat and every speaker, and who it is."""
    frame = frame_of(request, group_id)
    by_avatar = {one.avatar: one for one in frame.cards}
    members = {one.pk for one in frame.roster.characters}
    said = frame.roster.choices
    context = {
        "group": frame,
        "tab": "members",
        "entries": [(one, by_avatar.get(one.stands_for or one.key), one.key in said) for one in frame.roster.entries],
        "strangers": [(pk, label) for pk, label in frame.options if pk not in members],
    }
    return render(request, "memories/group_members.html", context)


@require_POST
def choose(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Say who one seat or speaker is: `who` is a card, "persona", "left_out", or "itself" to take it back."""
    group = owned(Group, request, pk=group_id)
    speaker = request.POST.get("speaker") or request.GET.get("speaker", "")
    who = request.POST.get("instead") or request.POST.get("who") or request.GET.get("who", "")
    character = owned(Character, request, pk=who) if is_uuid(who) else None
    kind = MemberChoice.Kind.CARD if character else "" if who == BY_ITSELF else who or "?"
    with explained(request):
        before = set_member(request.user, group, speaker, kind, character)
        say(request, _words(speaker, kind, character), _undo(group, before))
    return back(request, "memories:group", group.pk)


@require_POST
def add(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """Have a character remember what is said in this group."""
    group = owned(Group, request, pk=group_id)
    wanted = request.POST.get("character", "")
    with explained(request):
        if not is_uuid(wanted):
            raise ValueError(_("Choose a character first."))
        character = owned(Character, request, pk=wanted)
        before = add_member(request.user, group, character)
        say(request, _("%(name)s is a member now.") % {"name": character.name}, _undo(group, before))
    return back(request, "memories:group_members", group.pk)


def _undo(group: Group, before: Said) -> str:
    """The address that says again what was said before."""
    who = str(before.character_id) if before.character_id else before.kind or BY_ITSELF
    query = urlencode({"speaker": before.speaker, "who": who})
    return f"{reverse('memories:group_member', args=[group.pk])}?{query}"


def _words(speaker: str, kind: str, character: Character | None) -> str:
    name = speaker.removeprefix(ADDED).removeprefix("name:")
    if character is not None:
        return _("“%(name)s” is %(card)s.") % {"name": name, "card": character.name}
    if kind == MemberChoice.Kind.PERSONA:
        return _("“%(name)s” is a player’s persona.") % {"name": name}
    if kind == MemberChoice.Kind.LEFT_OUT:
        return _("“%(name)s” is left out: nobody remembers as this name.") % {"name": name}
    return _("What you said about “%(name)s” is taken back.") % {"name": name}
