"""Chats and their messages."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.ownership import ScopedModel
from sync.models.people import Character, Group
from sync.models.tavern import Tavern


class Chat(ScopedModel):
    """One chat file. Exactly one of `character` and `group` is set.

    Known by `integrity` (kept by a rename, fresh in a branch), then by its common prefix, last by its file name.
    """

    owner_path = "tavern__owner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tavern = models.ForeignKey(Tavern, on_delete=models.CASCADE, related_name="chats")
    character = models.ForeignKey(Character, null=True, blank=True, on_delete=models.CASCADE, related_name="chats")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="chats")
    name = models.CharField(max_length=500)  # file name without .jsonl; SillyTavern's chat id
    path = models.CharField(max_length=1000)  # relative to the tavern folder
    integrity = models.CharField(max_length=80, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="branches")
    parent_name = models.CharField(max_length=500, blank=True)
    fork_index = models.IntegerField(null=True, blank=True)  # last message shared with the parent
    chat_lorebook = models.CharField(max_length=300, blank=True)
    message_count = models.PositiveIntegerField(default=0)
    unreadable_lines = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    content_hash = models.CharField(max_length=64, blank=True)
    version = models.PositiveIntegerField(default=0)  # grows whenever a message row changes
    gone_at = models.DateTimeField(null=True, blank=True)
    # A person had this chat's text erased here: its file stays in SillyTavern and is not read again.
    forgotten_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tavern", "path"], name="one_chat_per_file"),)
        indexes = (models.Index(fields=["tavern", "integrity"]),)

    def __str__(self) -> str:
        return self.name


class Message(ScopedModel):
    """One message of a chat, numbered as SillyTavern does: from 0, without the header line.

    `identity` says which message this is (role, raw date, occurrence among equals) and survives renames, edits and
    swipes; `content` is a hash of name-free text and changes when the source of a memory has changed.
    """

    owner_path = "chat__tavern__owner"

    class Role(models.TextChoices):
        USER = "user", _("user")
        CHARACTER = "character", _("character")
        SYSTEM = "system", _("system notice")
        UNREADABLE = "unreadable", _("unreadable line")

    id = models.BigAutoField(primary_key=True)
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="messages")
    index = models.PositiveIntegerField()
    role = models.CharField(max_length=10, choices=Role.choices)
    name = models.CharField(max_length=500, blank=True)
    text = models.TextField(blank=True)
    is_hidden = models.BooleanField(default=False)
    is_tagged = models.BooleanField(default=False)  # the CharMemory extension marked it as extracted
    sender_avatar = models.CharField(max_length=300, blank=True)
    raw_date = models.CharField(max_length=120, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    swipe = models.PositiveIntegerField(null=True, blank=True)
    swipe_count = models.PositiveIntegerField(default=0)
    line = models.PositiveIntegerField(default=0)  # 1-based line of the file
    identity = models.CharField(max_length=32)
    content = models.CharField(max_length=32)

    class Meta:
        ordering = ("index",)
        constraints = (models.UniqueConstraint(fields=["chat", "identity"], name="one_message_per_identity"),)
        indexes = (models.Index(fields=["chat", "index"]),)

    def __str__(self) -> str:
        return f"#{self.index}"
