"""What an admin does with accounts. The installation keeps at least one admin who can sign in."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from accounts import sign_ins
from accounts.models import User
from accounts.ownership import unscoped
from accounts.registries import removals


class LastAdmin(ValueError):
    """The change would leave nobody who can look after the installation; the message is for people."""

    def __init__(self) -> None:
        super().__init__(_("This is the only admin. Make somebody else an admin first; nothing was changed."))


def change_role(person: User, role: str) -> None:
    """Make somebody an admin or a member."""
    with transaction.atomic():
        if role != User.Role.ADMIN:
            _another_admin(person)
        User.objects.filter(pk=person.pk).update(role=role)
    person.role = role


def deactivate(person: User) -> None:
    """Nobody can sign in with this account, open sessions end; everything it owns stays."""
    with transaction.atomic():
        _another_admin(person)
        User.objects.filter(pk=person.pk).update(is_active=False)
    person.is_active = False
    sign_ins.end_all(person)


def activate(person: User) -> None:
    """The account can be used again."""
    User.objects.filter(pk=person.pk).update(is_active=True)
    person.is_active = True


def consequences(person: User) -> list[str]:
    """What removing this account does, in sentences with numbers; nothing is changed."""
    with unscoped("what removing an account would do, in numbers"):
        return [sentence for removal in removals for sentence in removal.tell(person)]


def remove(person: User) -> None:
    """Remove an account and all its rows. Files inside SillyTavern stay where they are.

    The account is closed first, so that an interrupted removal leaves a closed account that can be removed again.
    """
    deactivate(person)
    with unscoped("an account is being removed with everything it owns"):
        for removal in removals:
            removal.remove(person)
        person.delete()


def _another_admin(person: User) -> None:
    """Raise LastAdmin when no admin but `person` can sign in."""
    others = User.objects.filter(role=User.Role.ADMIN, is_active=True).exclude(pk=person.pk)
    if person.is_admin and not others.exists():
        raise LastAdmin
