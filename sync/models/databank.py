"""Data Bank: attachments as SillyTavern registers them, files we keep there, conflicts, pending registrations."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import ScopedModel
from sync.models.people import Character
from sync.models.talk import Chat
from sync.models.tavern import Tavern


class Attachment(ScopedModel):
    """A Data Bank file. Found in SillyTavern, or made by us; a URL is kept for ever (architecture, rule 5)."""

    owner_path = "tavern__owner"

    class Scope(models.TextChoices):
        GLOBAL = "global", _("everywhere")
        CHARACTER = "character", _("character")
        CHAT = "chat", _("chat")

    class Index(models.TextChoices):
        UNKNOWN = "unknown", _("not checked")
        CURRENT = "current", _("current")
        BUILDING = "building", _("being built")
        STALE = "stale", _("out of date")
        FAILED = "failed", _("failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="attachments")
    scope = models.CharField(max_length=10, choices=Scope.choices)
    avatar = models.CharField(max_length=300, blank=True)
    character = models.ForeignKey(
        Character, null=True, blank=True, on_delete=models.SET_NULL, related_name="attachments"
    )
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.SET_NULL, related_name="attachments")
    url = models.CharField(max_length=500)
    name = models.CharField(max_length=500)
    registered_size = models.BigIntegerField(default=0)  # what settings.json says; decides the chunking
    created_ms = models.BigIntegerField(default=0)
    is_ours = models.BooleanField(default=False)  # made or adopted by us: the only files we write
    is_registered = models.BooleanField(default=False)
    is_disabled = models.BooleanField(default=False)
    file_present = models.BooleanField(default=False)
    file_hash = models.CharField(max_length=64, blank=True)  # sha256 of the bytes last seen on disk
    written_hash = models.CharField(max_length=64, blank=True)  # sha256 of the bytes we wrote last
    index_state = models.CharField(max_length=10, choices=Index.choices, default=Index.UNKNOWN)
    index_hash = models.CharField(max_length=64, blank=True)  # file_hash and chunk settings the index was built for
    index_chunks = models.PositiveIntegerField(default=0)
    index_note = models.TextField(blank=True)
    indexed_at = models.DateTimeField(null=True, blank=True)
    seen_in_prompt_at = models.DateTimeField(null=True, blank=True)  # last time the companion saw a line of it there
    gone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tavern", "scope", "avatar", "chat", "url"], name="one_attachment_per_url"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def file_name(self) -> str:
        """Base name under user/files; a path inside the URL is never followed (stack-notes §9.9)."""
        return self.url.rsplit("/", 1)[-1]


class Registration(ScopedModel):
    """A file that the page inside SillyTavern should register (companion), or that a person pastes by /db-add.

    `name` and `size` are what should be registered; the attachment says what is.
    """

    owner_path = "attachment__tavern__owner"

    attachment = models.OneToOneField(Attachment, on_delete=models.CASCADE, related_name="registration")
    name = models.CharField(max_length=500, blank=True)
    size = models.BigIntegerField()
    asked_at = models.DateTimeField(auto_now_add=True)
    offered_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"registration of {self.attachment_id}"


class FileConflict(ScopedModel):
    """Our file and somebody else's edit met: both texts are kept until the person decides."""

    owner_path = "attachment__tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="conflicts")
    ours = models.TextField(blank=True)
    theirs = models.TextField(blank=True)
    theirs_hash = models.CharField(max_length=64, blank=True)  # sha256 of the bytes that `theirs` was read from
    found_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision = models.CharField(max_length=20, blank=True)

    def __str__(self) -> str:
        return f"conflict of {self.attachment_id}"
