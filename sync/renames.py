"""A character that was taken for a renamed one can be told apart again: the rename is said, and undone by one press."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from sync.models import Character, Tavern


def renamed(user: User, tavern: Tavern) -> QuerySet[Character]:
    """Characters of a folder whose avatar changed, the last one first."""
    rows = Character.objects.for_user(user).filter(tavern=tavern, gone_at=None)
    return rows.exclude(former_avatars=[]).order_by("-updated_at")


def undo_rename(character: Character) -> Character:
    """Make the new avatar a character of its own, with the chats in its folder; the old one is gone with its memories.

    Nothing in SillyTavern's folder is touched. Gives the new character; the next pass reads its card in full.
    """
    new_avatar, former = character.avatar, list(character.former_avatars)
    with unscoped("a rename is undone by its owner"), transaction.atomic():
        chats = list(character.chats.filter(gone_at=None))
        character.avatar, character.former_avatars = former.pop(), former
        character.gone_at = timezone.now()
        character.save()
        other = Character.objects.create(
            tavern=character.tavern,
            avatar=new_avatar,
            name=character.name,
            description=character.description,
            personality=character.personality,
        )
        character.chats.filter(pk__in=[chat.pk for chat in chats]).update(character=other)
        character.tavern.scanned_files.filter(path=f"characters/{new_avatar}").delete()
    return other
