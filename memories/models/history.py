"""Every change of a memory file, for ever."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from memories.models.files import MemoryFile


class RevisionText(OwnedModel):
    """A text that revisions share: equal text is stored once per person, compressed with zlib."""

    digest = models.CharField(max_length=64)
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "digest"], name="one_text_per_digest"),)

    def __str__(self) -> str:
        return self.digest[:12]


class Revision(ScopedModel):
    """One state of a memory file. Number 0 is the file as it was found. Undo = restore, at any later time.

    `text` is the rendered file; `state` the blocks with their provenance as JSON (block ids, origin, evidence), so that
    a restore brings back more than the text.
    """

    owner_path = "file__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    reason = models.CharField(max_length=200)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    text = models.ForeignKey(RevisionText, on_delete=models.PROTECT, related_name="+")
    state = models.ForeignKey(RevisionText, on_delete=models.PROTECT, related_name="+")
    memories = models.PositiveIntegerField(default=0)
    blocks = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    restored = models.PositiveIntegerField(null=True, blank=True)  # the revision that this one brought back
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=["file", "number"], name="one_revision_per_number"),)

    def __str__(self) -> str:
        return f"revision {self.number}"
