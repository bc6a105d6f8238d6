"""Prompts that a person wrote in place of the shipped ones."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.ownership import OwnedModel
from sync.models import Character


class PromptOverride(OwnedModel):
    """One version of a person's own text for a prompt, for everything or for one character.

    The shipped text is in force when no row of a prompt is active: "use the default" is the absence of an active row,
    so improved defaults arrive by themselves. `base_text` is the default that the person began from, for the three-way
    comparison when the default changes. Custom consolidation strategies are prompts named "consolidation:<id>".
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=60)
    title = models.CharField(max_length=100, blank=True)  # of a custom strategy
    character = models.ForeignKey(
        Character, null=True, blank=True, on_delete=models.CASCADE, related_name="prompt_overrides"
    )
    number = models.PositiveIntegerField(default=1)  # version, counted per prompt over all characters
    text = models.TextField()
    base_version = models.CharField(max_length=20, blank=True)
    base_text = models.TextField(blank=True)
    settled_version = models.CharField(max_length=20, blank=True)  # newest default that the person decided about
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "-number")
        constraints = (
            models.UniqueConstraint(fields=["owner", "name", "character", "number"], name="one_version_per_number"),
            models.UniqueConstraint(
                fields=["owner", "name", "character"],
                condition=models.Q(is_active=True, character__isnull=False),
                name="one_active_text_per_character",
            ),
            models.UniqueConstraint(
                fields=["owner", "name"],
                condition=models.Q(is_active=True, character__isnull=True),
                name="one_active_text_per_prompt",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.number}"
