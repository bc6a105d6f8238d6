"""The memory file of a character, its blocks and its bullets."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from providers.models import Call
from sync.models import Attachment, Character, Chat


class MemoryFile(OwnedModel):
    """One memory file: of a character, or of a character in one chat. `version` is the optimistic lock."""

    class Layout(models.TextChoices):
        BLOCK = "block", _("one block after another")
        BULLET = "bullet", _("a blank line between bullets")
        CUSTOM = "custom", _("own separator between blocks")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    character = models.ForeignKey(Character, on_delete=models.CASCADE, related_name="memory_files")
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.CASCADE, related_name="memory_files")
    name = models.CharField(_("file name"), max_length=300)
    layout = models.CharField(max_length=8, choices=Layout.choices, default=Layout.BLOCK)
    separator = models.CharField(max_length=80, blank=True, default="\n\n")
    with_metadata = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=0)
    # Hand-written text around the blocks of an adopted file, kept on every later write:
    # [{"before": <block uuid or null for the end>, "text": "…"}]
    loose_text = models.JSONField(default=list, blank=True)
    attachment = models.OneToOneField(
        Attachment, null=True, blank=True, on_delete=models.SET_NULL, related_name="memory_file"
    )
    written_version = models.IntegerField(default=-1)  # version whose text lies in the Data Bank; -1 = none yet
    reviewed_version = models.IntegerField(default=-1)  # version whose bullets were compared (memories/review.py)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["character"], condition=models.Q(chat__isnull=True), name="one_file_per_character"
            ),
            models.UniqueConstraint(fields=["character", "chat"], name="one_file_per_character_and_chat"),
        )

    def __str__(self) -> str:
        return self.name


class MemoryBlock(ScopedModel):
    """One <memory> block: usually one scene. `order` counts in file order, oldest first."""

    owner_path = "file__owner"

    class Origin(models.TextChoices):
        EXTRACTED = "extracted", _("extracted")
        PINNED = "pinned", _("pinned")
        WRITTEN = "written", _("written")
        IMPORTED = "imported", _("imported")
        CONSOLIDATED = "consolidated", _("consolidated")
        CONVERTED = "converted", _("converted")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="blocks")
    # A moved or inserted block gets a number between its neighbours, so that no other row is touched.
    order = models.FloatField(default=0)
    label = models.CharField(max_length=500)  # the chat="" attribute
    # The date="" attribute, local wall-clock "YYYY-MM-DD HH:MM"; a merged block spans "… to …" (memories/date_span.py).
    date = models.CharField(max_length=40, blank=True)
    origin = models.CharField(max_length=12, choices=Origin.choices, default=Origin.EXTRACTED)
    is_locked = models.BooleanField(default=False)
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.SET_NULL, related_name="memory_blocks")
    first_index = models.IntegerField(null=True, blank=True)
    last_index = models.IntegerField(null=True, blank=True)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    prompt_version = models.CharField(max_length=40, blank=True)
    # {"layout", "separator", "metadata"} of a block that keeps an earlier layout of the file; null: as the file says.
    form = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("order", "created_at")

    def __str__(self) -> str:
        return self.label


class Memory(ScopedModel):
    """One bullet. `evidence` lists the messages it came from: [{"identity": str, "index": int, "quote": str}].

    `parents` names the bullets that this one replaced ([id as text]); they live on as Ancestor rows.
    """

    owner_path = "block__file__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    block = models.ForeignKey(MemoryBlock, on_delete=models.CASCADE, related_name="memories")
    order = models.FloatField(default=0)
    text = models.TextField()
    is_topic = models.BooleanField(default=False)
    is_locked = models.BooleanField(default=False)
    evidence = models.JSONField(default=list, blank=True)
    parents = models.JSONField(default=list, blank=True)
    is_unverified = models.BooleanField(default=False)
    unverified_names = models.JSONField(default=list, blank=True)
    duplicate_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    is_source_changed = models.BooleanField(default=False)
    # What the quality gate doubts: [{"check": name (memories/choices.py), "detail": word or text it is about}].
    doubts = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("order", "created_at")
        indexes = (
            # Lists count the bullets of each block without their topic tags; the index alone answers that.
            models.Index(fields=["block", "is_topic"], name="memory_by_block_and_topic"),
            # Few bullets wait for a review, and every page counts them.
            models.Index(
                fields=["block"],
                condition=models.Q(is_unverified=True) | models.Q(is_source_changed=True),
                name="memory_to_review",
            ),
        )

    def __str__(self) -> str:
        return self.text[:80]
