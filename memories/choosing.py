"""Changing the choices for reading: a person's own, and those of one character or group that differ from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from accounts.models import User
from memories import automatic
from memories.chosen import choices_for, own_values, settings_of
from memories.models import ExtractionOverride
from sync.models import Character, Group


def change_settings(user: User, values: Mapping[str, Any]) -> None:
    """Set fields of the person's choices, which hold for every character and group without own ones."""
    row = settings_of(user)
    for name, value in values.items():
        setattr(row, name, value)
    row.save()
    automatic.look_again(user)


def set_own(user: User, whose: Character | Group, values: Mapping[str, Any], *, among: Collection[str]) -> None:
    """What this character or group has of its own among the named choices; others of its own stay."""
    others = {name: value for name, value in own_values(user, whose).items() if name not in among}
    kept = others | {name: str(one) if isinstance(one, Decimal) else one for name, one in values.items()}
    field = "group" if isinstance(whose, Group) else "character"
    if kept:
        ExtractionOverride.objects.for_user(user).update_or_create(
            **{field: whose}, defaults={"values": kept}, create_defaults={"owner": user, "values": kept}
        )
    else:
        ExtractionOverride.objects.for_user(user).filter(**{field: whose}).delete()
    automatic.look_again(user, whose)


def switch(user: User, whose: Character | Group, *, is_on: bool) -> None:
    """Read this character or group by itself, or not; nothing of its own is kept when that is the general choice."""
    is_general = choices_for(user).is_automatic == is_on
    set_own(user, whose, {} if is_general else {"is_automatic": is_on}, among=["is_automatic"])
