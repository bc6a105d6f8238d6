"""Lorebooks, standing alone or embedded in a card. Read only."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.ownership import ScopedModel
from sync.models.people import Character
from sync.models.tavern import Tavern


class Lorebook(ScopedModel):
    """A world info file, or the book inside a card (`character` set, `path` empty)."""

    owner_path = "tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="lorebooks")
    name = models.CharField(max_length=300)
    path = models.CharField(max_length=1000, blank=True)
    character = models.ForeignKey(Character, null=True, blank=True, on_delete=models.CASCADE, related_name="books")
    content_hash = models.CharField(max_length=64, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class LorebookEntry(ScopedModel):
    """One entry: its keys and text."""

    owner_path = "book__tavern__owner"

    book = models.ForeignKey(Lorebook, on_delete=models.CASCADE, related_name="entries")
    uid = models.CharField(max_length=80)
    title = models.CharField(max_length=500, blank=True)
    keys = models.JSONField(default=list, blank=True)
    secondary_keys = models.JSONField(default=list, blank=True)
    content = models.TextField(blank=True)
    is_enabled = models.BooleanField(default=True)
    is_constant = models.BooleanField(default=False)
    order = models.IntegerField(default=100)

    class Meta:
        ordering = ("order", "pk")

    def __str__(self) -> str:
        return self.title or self.uid
