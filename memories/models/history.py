"""Every change of a memory file, for ever; what bullets replaced; and what was deleted lately."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from memories.models.files import MemoryFile
from providers.models import Call
from sync.models import Chat


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

    `state` holds the blocks with their provenance (memories/revisions.py), so that a restore brings back more than the
    text. `text` is kept where it is not what the state renders to: a file as it was found outside.
    Revisions that one action made in several files share a `batch` and are undone together.
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
    text = models.ForeignKey(RevisionText, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    state = models.ForeignKey(RevisionText, on_delete=models.PROTECT, related_name="+")
    memories = models.PositiveIntegerField(default=0)
    blocks = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    restored = models.PositiveIntegerField(null=True, blank=True)  # the revision that this one brought back
    batch = models.UUIDField(null=True, blank=True, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=["file", "number"], name="one_revision_per_number"),)

    def __str__(self) -> str:
        return f"revision {self.number}"


class Ancestor(OwnedModel):
    """A bullet as it stood when others replaced it (consolidation, conversion, merge): kept, so that evidence survives
    any number of rounds. `facts`: {"label", "date", "origin", "chat_name", "first_index", "last_index", "model",
    "prompt_version"}. `parents` are the ids of the bullets that it had replaced itself."""

    memory = models.UUIDField()  # the id that the bullet had
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="ancestors")
    digest = models.CharField(max_length=64)  # of the text: a restored bullet may be reworded and replaced again
    text = models.TextField()
    evidence = models.JSONField(default=list, blank=True)
    parents = models.JSONField(default=list, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    replaced_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["file", "memory", "digest"], name="one_ancestor_per_wording"),)

    def __str__(self) -> str:
        return self.text[:80]


class TrashItem(OwnedModel):
    """Something deleted, kept for 30 days to be put back: a block, or all memories of a file or character."""

    class Kind(models.TextChoices):
        BLOCK = "block", _("block")
        FILE = "file", _("memory file")
        CHARACTER = "character", _("all memories of a character")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="trash")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    title = models.CharField(max_length=500)
    state = models.ForeignKey(
        RevisionText, on_delete=models.PROTECT, related_name="+"
    )  # as memories/file_state.py has it
    memories = models.PositiveIntegerField(default=0)
    revision = models.PositiveIntegerField(default=0)  # the revision that deleted it
    deleted_at = models.DateTimeField(auto_now_add=True)
    restored_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-deleted_at",)

    def __str__(self) -> str:
        return self.title
