"""How far each chat has been read for each character, and what a person chose for extraction."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import OwnedModel, ScopedModel
from jobs.models import Job
from memories.choices import EACH
from providers.models import Call
from sync.models import Character, Chat, Group


class Watermark(ScopedModel):
    """How far `chat` has been read for `character`, by identity: found again after deletions, insertions, renames.

    A group's chat has one for each member. `tail` holds the identities of the last 20 messages read, newest last;
    `index` is only where the anchor stood then. Every message behind `index` up to `unread_to` is unread; what comes
    after that has to be looked at.
    """

    owner_path = "chat__tavern__owner"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="watermarks")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, related_name="watermarks")
    anchor = models.CharField(max_length=32, blank=True)
    index = models.IntegerField(default=-1)
    unread_to = models.IntegerField(default=-1)
    tail = models.JSONField(default=list, blank=True)
    waiting = models.PositiveIntegerField(default=0)  # unread messages when the chat had version `counted_version`
    counted_version = models.IntegerField(default=-1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["chat", "character"], name="one_watermark_per_reader"),)

    def __str__(self) -> str:
        return f"read up to #{self.index}"


class ExtractedChunk(OwnedModel):
    """A stretch of messages that was paid for once. `key` hashes chat, character, identities and contents.

    `marks` names each message of the stretch as memories/watermark.py compares them; all chunks together say what has
    been read, so a message inserted in the middle later is seen as unread. In the order of their rows: a chunk with
    outcome "reopened" takes its messages back (a person wants them read again), a later one reads them again.
    """

    key = models.CharField(max_length=64)
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="extracted_chunks")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, related_name="extracted_chunks")
    first_index = models.IntegerField()
    last_index = models.IntegerField()
    marks = models.JSONField(default=list, blank=True)
    messages = models.PositiveIntegerField(default=0)
    memories = models.PositiveIntegerField(default=0)
    left_out = models.PositiveIntegerField(default=0)  # bullets that only repeated what is known
    # memories, nothing, empty (no text), skipped (counted as read by hand), absent (the member took no part), reopened
    outcome = models.CharField(max_length=20, default="memories")
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "key"], name="one_chunk_per_key"),)

    def __str__(self) -> str:
        return self.key[:12]


class ExtractionSettings(models.Model):
    """One person's choices for extraction; the fields are those of memories/choices.py, which says what they mean."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="extraction_settings")
    is_automatic = models.BooleanField(default=True)
    interval = models.PositiveIntegerField(default=20)
    lag = models.PositiveIntegerField(default=0)
    cooldown_minutes = models.PositiveIntegerField(default=10)
    leaves_newest = models.BooleanField(default=False)
    newest = models.PositiveIntegerField(default=4)
    messages_per_call = models.PositiveIntegerField(default=20)
    response_tokens = models.PositiveIntegerField(default=1000)
    merge_chunks = models.BooleanField(default=False)
    quiet_from = models.CharField(max_length=5, blank=True)
    quiet_until = models.CharField(max_length=5, blank=True)
    idle_minutes = models.PositiveIntegerField(default=0)
    daily_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    reads_backlog = models.BooleanField(default=False)
    asks_present_only = models.BooleanField(default=True)
    group_calls = models.CharField(max_length=8, default=EACH)
    checks_with_model = models.BooleanField(default=False)
    gate = models.JSONField(default=dict, blank=True)
    is_verbose = models.BooleanField(default=False)  # the activity log keeps prompts and answers
    keep_days = models.PositiveIntegerField(default=7)  # for so many days

    def __str__(self) -> str:
        return f"extraction settings of {self.user_id}"


class ExtractionOverride(OwnedModel):
    """Choices of one character or one group that differ from the person's: {name of a choice: value}."""

    character = models.OneToOneField(
        Character, null=True, blank=True, on_delete=models.CASCADE, related_name="extraction_override"
    )
    group = models.OneToOneField(
        Group, null=True, blank=True, on_delete=models.CASCADE, related_name="extraction_override"
    )
    values = models.JSONField(default=dict, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"own choices of {self.character_id or self.group_id}"


class ChatActivity(ScopedModel):
    """What automatic extraction knows of a chat (memories/automatic.py).

    `new_at` is when a message came that was not there when the folder was first read: a chat without it is never read
    by itself. `left_over` are character messages that the last reading left alone on purpose; they are not counted
    again. `verdict` is the last decision (memories/automatic_rules.py), to be looked at again at `look_at`.
    """

    owner_path = "chat__tavern__owner"

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="activity")
    messages = models.PositiveIntegerField(default=0)  # character messages when it was last looked at
    new_at = models.DateTimeField(null=True, blank=True)
    left_over = models.PositiveIntegerField(default=0)
    read_at = models.DateTimeField(null=True, blank=True)  # when a reading of it last began, by itself or by hand
    verdict = models.CharField(max_length=20, blank=True)
    facts = models.JSONField(default=dict, blank=True)  # numbers of the verdict, for its sentence
    look_at = models.DateTimeField(null=True, blank=True, db_index=True)

    def __str__(self) -> str:
        return f"activity of {self.chat_id}"


class MemberChoice(ScopedModel):
    """What a person said about who somebody in a group is; kept although SillyTavern's group file is read again.

    `speaker` is an avatar file name, or "name:" and the name of a speaker without one.
    """

    owner_path = "group__tavern__owner"

    class Kind(models.TextChoices):
        CARD = "card", _("is this character")
        PERSONA = "persona", _("is a player’s persona")
        LEFT_OUT = "left_out", _("is left out")

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="member_choices")
    speaker = models.CharField(max_length=520)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    character = models.ForeignKey(Character, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["group", "speaker"], name="one_choice_per_speaker"),)

    def __str__(self) -> str:
        return f"{self.speaker}: {self.kind}"
