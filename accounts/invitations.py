"""Ways in for new people: made by an admin, good for seven days and one person, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Invitation, User

LIFETIME = timedelta(days=7)


def invite(admin: User, role: str = "member", note: str = "") -> tuple[Invitation, str]:
    """A new invitation and its token. The token is not kept: show it now or never."""
    token = secrets.token_urlsafe(24)
    invitation = Invitation.objects.create(
        token_hash=_hash(token), role=role, note=note, invited_by=admin, expires_at=timezone.now() + LIFETIME
    )
    return invitation, token


def open_invitations() -> QuerySet[Invitation]:
    """Unused, not expired, and made by somebody who still is an admin here, newest first."""
    rows = Invitation.objects.filter(used_at=None, expires_at__gt=timezone.now())
    return rows.filter(invited_by__role=User.Role.ADMIN, invited_by__is_active=True).order_by("-created_at")


def find(token: str) -> Invitation | None:
    """The open invitation with this token."""
    return open_invitations().filter(token_hash=_hash(token)).first()


def accept(token: str, username: str, password: str, **fields: object) -> User | None:
    """Make the invited account and use the invitation up; None when somebody was quicker or it is no longer open."""
    with transaction.atomic():
        mine = open_invitations().filter(token_hash=_hash(token))
        if not mine.order_by().update(used_at=timezone.now()):
            return None
        invitation = Invitation.objects.get(token_hash=_hash(token))
        person = User.objects.create_person(username, password, role=invitation.role, **fields)
        Invitation.objects.filter(pk=invitation.pk).update(used_by=person)
        return person


def revoke(invitation: Invitation) -> None:
    """Take an invitation back: its link is dead."""
    Invitation.objects.filter(pk=invitation.pk, used_at=None).delete()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
