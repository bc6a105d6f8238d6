"""People of one installation: who they are, how they were invited, what slows down a guesser."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class UserManager(DjangoUserManager["User"]):
    """Creates people; there are no superusers, only admins of the installation."""

    def create_person(self, username: str, password: str, *, role: str = "member", **fields: object) -> User:
        """Make an account with a hashed password; `role` is "admin" or "member"."""
        person = self.model(username=self.model.normalize_username(username), role=role, **fields)
        person.set_password(password)
        person.save(using=self._db)
        return person


class User(AbstractBaseUser):
    """One person. An admin looks after the installation and still sees nobody else's chats or memories."""

    class Role(models.TextChoices):
        ADMIN = "admin", _("admin")
        MEMBER = "member", _("member")

    class Theme(models.TextChoices):
        DARK = "dark", _("dark")
        LIGHT = "light", _("light")

    class Density(models.TextChoices):
        COMFORTABLE = "comfortable", _("comfortable")
        COMPACT = "compact", _("compact")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    username = models.CharField(_("name"), max_length=80, unique=True, validators=[UnicodeUsernameValidator()])
    display_name = models.CharField(_("shown name"), max_length=120, blank=True)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    theme = models.CharField(_("theme"), max_length=8, choices=Theme.choices, default=Theme.DARK)
    density = models.CharField(_("density"), max_length=12, choices=Density.choices, default=Density.COMFORTABLE)

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """What pages call this person."""
        return self.display_name or self.username

    @property
    def is_admin(self) -> bool:
        return self.role == self.Role.ADMIN


class Invitation(models.Model):
    """A way in for one new person: the token is kept as a hash, works once and expires."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    token_hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, choices=User.Role.choices, default=User.Role.MEMBER)
    note = models.CharField(max_length=120, blank=True)
    invited_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return f"invitation {self.id}"


class SignIn(models.Model):
    """One open session of a person, so that it can be listed and ended."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    agent = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"session of {self.user_id}"


class Throttle(models.Model):
    """A counter of tries for one key (name and network, or person and action); the key is a hash."""

    key = models.CharField(max_length=64, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    blocked_until = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.key[:8]
