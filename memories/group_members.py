"""Changes of what a person says about who is who in a group, and of how its members are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from memories.choices import EACH, TOGETHER
from memories.choosing import set_own
from memories.chosen import choices_for
from memories.member_rules import ADDED
from memories.members import roster
from memories.models import MemberChoice
from sync.models import Character, Group


@dataclass(frozen=True)
class Said:
    """What was said about one seat or speaker, so that it can be said again; `kind` "" when nothing was."""

    speaker: str
    kind: str = ""
    character_id: UUID | None = None


def set_member(user: User, group: Group, speaker: str, kind: str, character: Character | None = None) -> Said:
    """Say who a seat or a speaker is; with kind "" it is again whoever it is by itself. Returns what was said before.

    ValueError with a finished sentence when there is no such seat or speaker, or the card is not of this SillyTavern.
    """
    rows = MemberChoice.objects.for_user(user).filter(group=group, speaker=speaker)
    before = rows.first()
    if not kind:
        rows.delete()
    else:
        _check(user, group, speaker, kind, character)
        card = character if kind == MemberChoice.Kind.CARD else None
        rows.update_or_create(group=group, speaker=speaker, defaults={"kind": kind, "character": card})
    return Said(speaker, before.kind, before.character_id) if before else Said(speaker)


def add_member(user: User, group: Group, character: Character) -> Said:
    """Have a character remember what is said in a group although it neither sits nor spoke there."""
    if any(one.pk == character.pk for one in roster(user, group).characters):
        raise ValueError(_("%(name)s is a member already.") % {"name": character.name})
    return set_member(user, group, f"{ADDED}{character.avatar}", MemberChoice.Kind.CARD, character)


def _check(user: User, group: Group, speaker: str, kind: str, character: Character | None) -> None:
    if kind not in MemberChoice.Kind.values or (kind == MemberChoice.Kind.CARD and character is None):
        raise ValueError(_("Choose who it is. Nothing was changed."))
    if character is not None and (character.tavern_id != group.tavern_id or character.gone_at is not None):
        raise ValueError(_("This card is not in the SillyTavern of the group. Nothing was changed."))
    is_added = speaker.startswith(ADDED) and kind == MemberChoice.Kind.CARD
    if not is_added and speaker not in {one.key for one in roster(user, group).entries}:
        raise ValueError(_("Nobody of this name sits or spoke in the group. Nothing was changed."))


def set_asking(user: User, group: Group, *, calls: str, present_only: bool) -> None:
    """How this group's members are asked; what is as the person chose for everybody is not kept as the group's own."""
    if calls not in (EACH, TOGETHER):
        raise ValueError(_("Choose how the members are asked. Nothing was changed."))
    usual = choices_for(user)
    wanted: dict[str, Any] = {"group_calls": calls, "asks_present_only": present_only}
    own = {name: value for name, value in wanted.items() if value != getattr(usual, name)}
    set_own(user, group, own, among=list(wanted))
