"""Characters and groups as SillyTavern stores them."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.ownership import ScopedModel
from sync.models.tavern import Tavern


class Character(ScopedModel):
    """A card. Known by its avatar file name within a tavern; names may repeat and change."""

    owner_path = "tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="characters")
    avatar = models.CharField(max_length=300)
    name = models.CharField(max_length=500)
    description = models.TextField(blank=True)
    personality = models.TextField(blank=True)
    scenario = models.TextField(blank=True)
    first_message = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    spec = models.CharField(max_length=40, blank=True)
    bound_lorebook = models.CharField(max_length=300, blank=True)
    current_chat = models.CharField(max_length=500, blank=True)
    content_hash = models.CharField(max_length=64, blank=True)
    portrait_hash = models.CharField(max_length=64, blank=True)
    former_avatars = models.JSONField(default=list, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tavern", "avatar"], name="one_character_per_avatar"),)

    def __str__(self) -> str:
        return self.name

    @property
    def card_text(self) -> str:
        """Description and personality, as extraction shows the card (spec/charmemory §3.6)."""
        return "\n\n".join(part.strip() for part in (self.description, self.personality) if part.strip())


class Group(ScopedModel):
    """A group of characters."""

    owner_path = "tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="groups")
    file_id = models.CharField(max_length=200)
    name = models.CharField(max_length=500)
    generation_mode = models.IntegerField(default=0)
    chat_ids = models.JSONField(default=list, blank=True)
    current_chat = models.CharField(max_length=500, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tavern", "file_id"], name="one_group_per_file"),)

    def __str__(self) -> str:
        return self.name


class GroupMember(ScopedModel):
    """A seat in a group. `character` is empty while the avatar belongs to no card."""

    owner_path = "group__tavern__owner"

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="members")
    avatar = models.CharField(max_length=300)
    character = models.ForeignKey(Character, null=True, blank=True, on_delete=models.SET_NULL, related_name="seats")
    position = models.PositiveIntegerField(default=0)
    is_disabled = models.BooleanField(default=False)

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(fields=["group", "avatar"], name="one_seat_per_avatar"),)

    def __str__(self) -> str:
        return self.avatar
