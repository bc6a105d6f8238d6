"""What the quality gate held back, and how well each model's bullets did over time."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel
from jobs.models import Job
from memories.models.files import MemoryFile
from providers.models import Call
from sync.models import Chat


class HeldMemory(OwnedModel):
    """A bullet that was not written into its file because a check doubts it: a person accepts or refuses it.

    waiting ──Accept──▶ accepted (now a memory of the file)        waiting ──Refuse──▶ refused
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        ACCEPTED = "accepted", _("accepted")
        REFUSED = "refused", _("refused")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="held")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    text = models.TextField()
    topic = models.TextField(blank=True)  # the topic tag of the block that it came with
    label = models.CharField(max_length=500, blank=True)
    date = models.CharField(max_length=40, blank=True)
    doubts = models.JSONField(default=list, blank=True)  # as Memory.doubts
    evidence = models.JSONField(default=list, blank=True)
    unverified_names = models.JSONField(default=list, blank=True)
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.CASCADE, related_name="held_memories")
    first_index = models.IntegerField(null=True, blank=True)
    last_index = models.IntegerField(null=True, blank=True)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    prompt_version = models.CharField(max_length=40, blank=True)
    memory = models.UUIDField(null=True, blank=True)  # the memory that accepting made
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=["file"], condition=models.Q(state="waiting"), name="held_to_decide"),)

    def __str__(self) -> str:
        return self.text[:80]


class GateCount(OwnedModel):
    """Bullets of one model on one day: kept, of these flagged, held back, refused as repetitions, mended by asking."""

    day = models.DateField()
    model = models.CharField(max_length=200)
    calls = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0)
    flagged = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    mended = models.PositiveIntegerField(default=0)
    checks = models.JSONField(default=dict, blank=True)  # {name of a check: bullets that it doubted}

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "day", "model"], name="one_count_per_model_and_day"),)

    def __str__(self) -> str:
        return f"{self.day} {self.model}"
