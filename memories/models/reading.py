"""How far each chat has been read for each character, and what a person chose for extraction."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from providers.models import Call
from sync.models import Character, Chat


class Watermark(ScopedModel):
    """How far `chat` has been read for `character`, by identity: found again after deletions, insertions, renames.

    `tail` holds the identities of the last 20 messages read, newest last; `index` is only where the anchor stood then.
    Every message behind `index` up to `unread_to` is unread; what comes after that has to be looked at.
    """

    owner_path = "chat__tavern__owner"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="watermarks")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, related_name="watermarks")
    anchor = models.CharField(max_length=32, blank=True)
    index = models.IntegerField(default=-1)
    unread_to = models.IntegerField(default=-1)
    tail = models.JSONField(default=list, blank=True)
    waiting = models.PositiveIntegerField(default=0)  # unread messages when the chat had version `counted_version`
    counted_version = models.IntegerField(default=-1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["chat", "character"], name="one_watermark_per_reader"),)

    def __str__(self) -> str:
        return f"read up to #{self.index}"


class ExtractedChunk(OwnedModel):
    """A stretch of messages that was paid for once. `key` hashes chat, character, identities and contents.

    `marks` names each message of the stretch as memories/watermark.py compares them; all chunks together say what has
    been read, so a message inserted in the middle later is seen as unread.
    """

    key = models.CharField(max_length=64)
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="extracted_chunks")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, related_name="extracted_chunks")
    first_index = models.IntegerField()
    last_index = models.IntegerField()
    marks = models.JSONField(default=list, blank=True)
    messages = models.PositiveIntegerField(default=0)
    memories = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=20, default="memories")  # memories, nothing, empty, skipped
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "key"], name="one_chunk_per_key"),)

    def __str__(self) -> str:
        return self.key[:12]


class ExtractionSettings(models.Model):
    """One person's choices for extraction (spec/charmemory §1)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="extraction_settings")
    interval = models.PositiveIntegerField(default=20)
    messages_per_call = models.PositiveIntegerField(default=20)
    response_tokens = models.PositiveIntegerField(default=1000)

    def __str__(self) -> str:
        return f"extraction settings of {self.user_id}"
