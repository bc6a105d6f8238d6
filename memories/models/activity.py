"""What CharMem did, in words, and what it found in a prompt."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from providers.models import Call
from sync.models import Character, Chat, Group


class Activity(OwnedModel):
    """One line of the activity log. `text` is a finished sentence without chat text, keys or names of files outside."""

    at = models.DateTimeField(default=timezone.now)
    level = models.CharField(max_length=8, default="info")  # info, good, warn, bad
    # collected, sent, answered, judged, saved, skipped, waits, began, ended, changed
    step = models.CharField(max_length=12)
    text = models.TextField()
    character = models.ForeignKey(Character, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    chat = models.ForeignKey(Chat, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=["owner", "-at"], name="activity_newest"),)

    def __str__(self) -> str:
        return self.text[:80]


class ActivityText(ScopedModel):
    """The full prompt and answer of a call, kept while the person wants it: zlib of JSON {system, user, answer,
    reasoning}. Erased after `expires_at`, and when the chat is forgotten."""

    owner_path = "activity__owner"

    activity = models.OneToOneField(Activity, on_delete=models.CASCADE, related_name="full")
    data = models.BinaryField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"text of {self.activity_id}"


class Snapshot(OwnedModel):
    """What was injected for one message. `source` says who saw it ("charmemory": taken over from that extension).

    `data` keeps what was recorded: {"memories": [{"text"}], "lore": [{"comment", "keys", "content"}], "prompts":
    [{"label", "content", "position", "depth"}], "tokens": {…}, "at": text as recorded}.
    """

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="snapshots")
    identity = models.CharField(max_length=32)  # of the message; found again when the chat changes
    index = models.IntegerField()
    source = models.CharField(max_length=20)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["chat", "identity", "source"], name="one_snapshot_per_message_and_source"),
        )

    def __str__(self) -> str:
        return f"injected for #{self.index}"
