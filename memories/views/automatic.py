"""Settings of extraction: a person's, those of one character or group, and the switch on their pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import PersonRequest, owned
from memories import choosing
from memories.automatic_state import state_of
from memories.character_frame import character_frame
from memories.chosen import choices_for, own_values, settings_of
from memories.extraction_forms import WORDINGS, OwnForm, SettingsForm
from memories.views.saying import back, say
from sync.models import Character, Group


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: PersonRequest) -> HttpResponse:
    """What holds for every character and group."""
    form = SettingsForm(request.POST or None, found=settings_of(request.user))
    if request.method == "POST" and form.is_valid():
        choosing.change_settings(request.user, {name: form.cleaned_data[name] for name in form.names})
        say(request, _("Saved. It holds for the next reading."))
        return redirect("memories:extraction_settings")
    return render(request, "memories/extraction_settings.html", {"form": form}, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
def of_character(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """What one character has of its own."""
    character = owned(Character, request, pk=character_id)
    here = reverse("memories:own_extraction", args=[character.pk])
    context = {"hero": character_frame(request.user, character), "tab": "settings"}
    return _own(request, character, here, "memories/extraction_settings_character.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def of_group(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """What one group has of its own."""
    group = owned(Group, request, pk=group_id)
    here = reverse("memories:group_extraction", args=[group.pk])
    context = {"group": group, "auto": state_of(request.user, group)}
    return _own(request, group, here, "memories/extraction_settings_group.html", context)


def _own(
    request: PersonRequest, whose: Character | Group, here: str, template: str, context: dict[str, Any]
) -> HttpResponse:
    if request.POST.get("general") in WORDINGS:
        return _back_to_general(request, whose, here, request.POST["general"])
    form = OwnForm(
        request.POST or None,
        general=choices_for(request.user),
        own=own_values(request.user, whose),
        in_force=choices_for(request.user, whose),
        is_group=isinstance(whose, Group),
    )
    if request.method == "POST" and form.is_valid():
        choosing.set_own(request.user, whose, form.values, among=form.names)
        say(request, _("Saved. It holds for the next reading."))
        return redirect(here)
    return render(request, template, {**context, "form": form, "whose": whose}, status=_status(form))


def _back_to_general(request: PersonRequest, whose: Character | Group, here: str, name: str) -> HttpResponse:
    choosing.set_own(request.user, whose, {}, among=[name])
    say(request, _("“%(choice)s” follows the general value again.") % {"choice": WORDINGS[name].label})
    return redirect(here)


def _status(form: SettingsForm | OwnForm) -> int:
    return 422 if form.is_bound else 200


@require_POST
def auto(request: PersonRequest, character_id: UUID) -> HttpResponse:
    """The switch on a character's page."""
    character = owned(Character, request, pk=character_id)
    _switch(request, character)
    return back(request, "memories:character", character.pk)


@require_POST
def group_auto(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """The switch on a group's page."""
    group = owned(Group, request, pk=group_id)
    _switch(request, group)
    return back(request, reverse("memories:group", args=[group.pk]))


def _switch(request: PersonRequest, whose: Character | Group) -> None:
    is_on = request.POST.get("on") == "1"
    choosing.switch(request.user, whose, is_on=is_on)
    words = _("%(name)s is read by itself.") if is_on else _("%(name)s is read only when you press Extract.")
    say(request, words % {"name": whose.name})
