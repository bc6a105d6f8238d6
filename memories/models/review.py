"""Pairs of memories that a person should look at."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import ScopedModel
from memories.models.files import MemoryFile


class ReviewPair(ScopedModel):
    """Two bullets of one file that may say the same, or of which the newer may make the older out of date.

    Ids instead of relations: a restored revision brings rows back under their ids, and a decision must outlive that.
    `digest` is over both texts: when one is reworded, the pair is looked at afresh.
    """

    owner_path = "file__owner"

    class Kind(models.TextChoices):
        DUPLICATE = "duplicate", _("possible duplicate")
        SUPERSEDED = "superseded", _("possibly out of date")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="review_pairs")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    older = models.UUIDField()
    newer = models.UUIDField()
    digest = models.CharField(max_length=64)
    score = models.FloatField(default=0)  # 0 to 1
    reason = models.CharField(max_length=200, blank=True)
    decision = models.CharField(max_length=10, blank=True)  # older, newer, both, merged; "" = open
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["file", "kind", "older", "newer"], name="one_pair_per_kind"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.older} {self.newer}"
