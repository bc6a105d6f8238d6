"""One linked SillyTavern user folder, who may link which folder, and what could not be read in it."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel


class FolderGrant(models.Model):
    """An admin's word that a person may link this SillyTavern user folder. Holds no content."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    folder = models.CharField(max_length=1000, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="folder_grants")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.folder


class Tavern(OwnedModel):
    """One SillyTavern user folder (`…/data/<handle>`), linked by exactly one person."""

    class State(models.TextChoices):
        NEW = "new", _("not read yet")
        OK = "ok", _("in step")
        PAUSED = "paused", _("paused")
        UNREACHABLE = "unreachable", _("not reachable")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    folder = models.CharField(max_length=1000, unique=True)
    is_sample = models.BooleanField(default=False)
    url = models.CharField(_("address of SillyTavern"), max_length=500, blank=True)
    login = models.CharField(max_length=200, blank=True)
    password_sealed = models.TextField(blank=True)
    basic_auth_name = models.CharField(max_length=200, blank=True)
    basic_auth_sealed = models.TextField(blank=True)
    version = models.CharField(max_length=40, blank=True)

    state = models.CharField(max_length=12, choices=State.choices, default=State.NEW)
    state_reason = models.TextField(blank=True)
    is_writable = models.BooleanField(default=False)
    write_problem = models.TextField(blank=True)
    last_pass_at = models.DateTimeField(null=True, blank=True)
    last_change_at = models.DateTimeField(null=True, blank=True)
    last_pass_ms = models.PositiveIntegerField(default=0)
    compare_only = models.BooleanField(default=False)
    pass_token = models.UUIDField(null=True, blank=True)  # one pass at a time: sync/watch.py
    pass_until = models.DateTimeField(null=True, blank=True)
    unlinked_at = models.DateTimeField(null=True, blank=True)  # `folder` is free for others then: sync/link.py
    created_at = models.DateTimeField(auto_now_add=True)

    # Only named keys of settings.json are kept (architecture, rule 4).
    vectors = models.JSONField(default=dict, blank=True)
    personas = models.JSONField(default=dict, blank=True)
    persona_name = models.CharField(max_length=200, blank=True)
    global_lorebooks = models.JSONField(default=list, blank=True)
    character_lorebooks = models.JSONField(default=dict, blank=True)  # avatar without .png: further bound books
    server_urls = models.JSONField(default=dict, blank=True)
    charmemory = models.JSONField(default=dict, blank=True)  # that extension: {"enabled", "interval"}; {} = not there
    disabled_extensions = models.JSONField(default=list, blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def root(self) -> Path:
        return Path(self.folder)


class ScannedFile(ScopedModel):
    """What one file looked like when it was last read, so that an unchanged file is not read again."""

    owner_path = "tavern__owner"

    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="scanned_files")
    path = models.CharField(max_length=1000)
    size = models.BigIntegerField(default=0)
    mtime_ns = models.BigIntegerField(default=0)
    inode = models.BigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tavern", "path"], name="one_scan_per_file"),)

    def __str__(self) -> str:
        return self.path


class FileIssue(ScopedModel):
    """Something in a file that could not be used: file, line, what is wrong, what was kept. Never chat text."""

    owner_path = "tavern__owner"

    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="issues")
    path = models.CharField(max_length=1000)
    line = models.PositiveIntegerField(null=True, blank=True)
    code = models.CharField(max_length=40)
    text = models.TextField()
    kept = models.TextField(blank=True)
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["tavern", "path"]),)

    def __str__(self) -> str:
        return f"{self.path}: {self.code}"
