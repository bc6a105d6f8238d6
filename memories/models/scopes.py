"""Which chats and which characters share a memory."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import ScopedModel
from memories.models.files import MemoryFile
from sync.models import Attachment, Character


class MemoryScope(ScopedModel):
    """How a character's memories are divided among its chats; without a row: one memory, a shared timeline.

    With `timeline` branches, a chat that branched off remembers what its parent remembered up to the fork and what
    happened in it since, in a file of its own; the parent's line keeps the character's file (memories/scopes.py).
    """

    owner_path = "character__tavern__owner"

    class Scope(models.TextChoices):
        ALL = "all", _("one memory for all chats")
        CHAT = "chat", _("one memory for each chat")

    class Timeline(models.TextChoices):
        SHARED = "shared", _("branches share what is remembered")
        BRANCHES = "branches", _("each branch remembers its own past")

    character = models.OneToOneField(Character, on_delete=models.CASCADE, related_name="memory_scope")
    scope = models.CharField(max_length=4, choices=Scope.choices, default=Scope.ALL)
    timeline = models.CharField(max_length=8, choices=Timeline.choices, default=Timeline.SHARED)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.scope}, {self.timeline}"


class MemoryShare(ScopedModel):
    """A further character that remembers in somebody else's file: its text goes into the Data Bank of each.

    The character's own file, if it had one, stays as it was and is used again when the share ends.
    """

    owner_path = "file__owner"

    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="shares")
    character = models.OneToOneField(Character, on_delete=models.CASCADE, related_name="memory_share")
    attachment = models.OneToOneField(
        Attachment, null=True, blank=True, on_delete=models.SET_NULL, related_name="memory_share"
    )
    written_version = models.IntegerField(default=-1)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.character_id} in {self.file_id}"


class MemoryLine(ScopedModel):
    """The branch whose memories stand in its character's own Data Bank file now, because that chat is the open one
    (memories/lines.py); without a row the character's file stands there."""

    owner_path = "file__owner"

    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="lines")
    character = models.OneToOneField(Character, on_delete=models.CASCADE, related_name="memory_line")
    attachment = models.OneToOneField(
        Attachment, null=True, blank=True, on_delete=models.SET_NULL, related_name="memory_line"
    )
    written_version = models.IntegerField(default=-1)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.character_id} in {self.file_id}"
