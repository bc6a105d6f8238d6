"""Edits in progress, and what a model or a rule proposes to do with a memory file."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from memories.models.files import MemoryFile
from memories.models.history import RevisionText
from providers.models import Call, Connection


class Draft(OwnedModel):
    """An edit in progress, kept on the server: it survives a reload and goes on from another device.

    open ──Save──▶ saved (one revision)        open ──Leave──▶ left
    `pointer` counts the steps in force; undo and redo move it. `base_version` is the version of the file it began from.
    """

    class Kind(models.TextChoices):
        EDIT = "edit", _("editing")
        CONSOLIDATION = "consolidation", _("consolidation")
        CONVERSION = "conversion", _("import")
        REFORMAT = "reformat", _("tidying up")
        REREAD = "reread", _("reading again")

    class State(models.TextChoices):
        OPEN = "open", _("open")
        SAVED = "saved", _("saved")
        LEFT = "left", _("left")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="drafts")
    kind = models.CharField(max_length=14, choices=Kind.choices, default=Kind.EDIT)
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    title = models.CharField(max_length=200, blank=True)  # the reason of its revision, when it is saved
    base_version = models.PositiveIntegerField(default=0)
    pointer = models.PositiveIntegerField(default=0)
    # How a person settled blocks that were changed on both sides: {block id: "mine" | "theirs" | "both",
    # "seen": {block id: version of the file that was looked at}}.
    choices = models.JSONField(default=dict, blank=True)
    revision = models.PositiveIntegerField(null=True, blank=True)  # the revision that saving made
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "file"], condition=models.Q(kind="edit", state="open"), name="one_open_edit_per_file"
            ),
        )

    def __str__(self) -> str:
        return self.title or str(self.pk)

    @property
    def floor(self) -> int:
        """The lowest pointer that undo reaches: what a proposal made is step 1, and is discarded only as a whole."""
        return 0 if self.kind == self.Kind.EDIT else 1


class DraftStep(ScopedModel):
    """One operation of a draft, as the rows that it changes.

    `changes`: [{"row": "block" | "memory" | "send", "id": str, "before": fields or null, "after": fields or null}];
    null before = made by this step, null after = deleted by it; otherwise only the fields that differ. "send" = bullets
    for another file, which arrive there when the draft is saved (memories/draft_overlay.py).
    """

    owner_path = "draft__owner"

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()  # from 1; steps above the draft's pointer were undone
    label = models.CharField(max_length=200)
    changes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=["draft", "number"], name="one_step_per_number"),)

    def __str__(self) -> str:
        return self.label


class Proposal(OwnedModel):
    """What a model or a rule made of memories or of a foreign text, waiting for a person to review and apply it.

    planned ──▶ running ──▶ ready ──Apply──▶ applied        running ──▶ failed | stopped (parts are kept, can go on)
                               └──Discard──▶ discarded
    The result is a draft: its first step is the proposal, later ones are the person's. `report` says what became of
    each source (memories/conservation.py). Runs over the same choice form a stack through `previous`.
    """

    class Kind(models.TextChoices):
        CONSOLIDATION = "consolidation", _("consolidation")
        CONVERSION = "conversion", _("import")
        REFORMAT = "reformat", _("tidying up")
        REREAD = "reread", _("reading again")

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")
        RUNNING = "running", _("running")
        READY = "ready", _("ready to review")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")
        APPLIED = "applied", _("applied")
        DISCARDED = "discarded", _("discarded")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="proposals")
    kind = models.CharField(max_length=14, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    base_version = models.PositiveIntegerField(default=0)
    params = models.JSONField(default=dict, blank=True)  # strategy, prompt, chosen blocks, … as its verb documents
    report = models.JSONField(default=dict, blank=True)
    source_name = models.CharField(max_length=300, blank=True)
    source = models.ForeignKey(RevisionText, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    model = models.CharField(max_length=300, blank=True)
    prompt_version = models.CharField(max_length=40, blank=True)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    draft = models.OneToOneField(Draft, null=True, blank=True, on_delete=models.SET_NULL, related_name="proposal")
    previous = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="later")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.kind} of {self.file_id}"


class ProposalPart(ScopedModel):
    """One call's share of a proposal, kept as soon as it is answered: a run that is broken off goes on behind it.

    `sources` are the ids that went in; `answer` what came out, as the verb that made it documents. `level` 0 = map,
    1 and up = reduce. A part that was cut off is split: it is marked and two follow it.
    """

    owner_path = "proposal__owner"

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="parts")
    level = models.PositiveIntegerField(default=0)
    number = models.CharField(max_length=40)  # "0003", the halves of a split part "0003.1" and "0003.2"
    state = models.CharField(max_length=10, default="waiting")  # waiting, done, split, failed
    sources = models.JSONField(default=list)
    answer = models.JSONField(default=dict, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("level", "number")
        constraints = (models.UniqueConstraint(fields=["proposal", "level", "number"], name="one_part_per_place"),)

    def __str__(self) -> str:
        return f"{self.level}/{self.number}"
