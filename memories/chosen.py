"""The choices in force for reading: the person's, overridden by those of one character or group."""

from __future__ import annotations

from accounts.models import User
from memories.choices import NAMES, Choices, with_values
from memories.models import ExtractionOverride, ExtractionSettings
from sync.models import Character, Group


def settings_of(user: User) -> ExtractionSettings:
    """The person's row, or the usual values."""
    return ExtractionSettings.objects.filter(user=user).first() or ExtractionSettings(user=user)


def choices_for(user: User, whose: Character | Group | None = None) -> Choices:
    """What is in force for a character or a group; without one, what the person chose for everybody."""
    row = settings_of(user)
    choices = Choices(**{name: getattr(row, name) for name in NAMES})
    return with_values(choices, own_values(user, whose)) if whose is not None else choices


def own_values(user: User, whose: Character | Group) -> dict[str, object]:
    """Only what this character or group has of its own."""
    field = "group" if isinstance(whose, Group) else "character"
    rows = ExtractionOverride.objects.for_user(user).filter(**{field: whose})
    return rows.values_list("values", flat=True).first() or {}
