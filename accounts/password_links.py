"""A way back in for somebody who lost the password: made on the server's own command line, never by an admin's click.

An admin who could make such links in the browser could open anybody's chats with them. The token dies after three days,
with the next sign-in, and when it was used.
"""

from __future__ import annotations

from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse

from accounts import sign_ins
from accounts.models import User


def make(person: User) -> str:
    """The path of a link with which `person` sets a new password."""
    return reverse("accounts:new_password", args=[person.pk, default_token_generator.make_token(person)])


def find(pk: str, token: str) -> User | None:
    """The person to whom this link gives a new password."""
    person = User.objects.filter(pk=pk, is_active=True).first()
    return person if person and default_token_generator.check_token(person, token) else None


def use(person: User, token: str, password: str) -> bool:
    """Set the password and end all sessions; False when somebody was quicker with the same link."""
    fresh = User.objects.get(pk=person.pk)
    if not default_token_generator.check_token(fresh, token):
        return False
    lost = fresh.password
    fresh.set_password(password)
    if not User.objects.filter(pk=fresh.pk, password=lost).update(password=fresh.password):
        return False
    sign_ins.end_all(fresh)
    return True
