"""The companion that a person installed into their SillyTavern."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.ownership import ScopedModel
from sync.models import Tavern


class Pairing(ScopedModel):
    """One installed companion. Its token works for this tavern alone and is kept as a hash.

    `files` maps each installed file to the sha256 it was written with, so that a file changed by hand is noticed.
    """

    owner_path = "tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.OneToOneField(Tavern, on_delete=models.CASCADE, related_name="companion")
    token_hash = models.CharField(max_length=64)
    address = models.CharField(max_length=500)
    version = models.CharField(max_length=40)
    files = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"companion of {self.tavern_id}"
