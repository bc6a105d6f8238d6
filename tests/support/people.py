"""The three people of every story: alice owns, bob shares the server, charlie is a stranger."""

from __future__ import annotations

from accounts.models import User

PASSWORD = "correct horse battery"


def make_person(name: str, role: str = "member") -> User:
    """An account with the test password."""
    return User.objects.create_person(name, PASSWORD, role=role)
