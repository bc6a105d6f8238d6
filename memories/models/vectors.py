"""What memories mean, as an embedding model sees them."""

from __future__ import annotations

from django.db import models

from accounts.ownership import OwnedModel
from memories.models.files import Memory


class MemoryVector(OwnedModel):
    """The direction of one memory's words (memories/meaning_space.py). It can be made again at any time, and nothing
    needs it.

    `model` names who made it: vectors of two names cannot be compared. `mark` is a digest of the words that it was made
    from, `seen` the memory's `updated_at` at that moment.
    """

    memory = models.OneToOneField(Memory, primary_key=True, on_delete=models.CASCADE, related_name="vector")
    model = models.CharField(max_length=200)
    mark = models.CharField(max_length=16)
    seen = models.DateTimeField()
    data = models.BinaryField()

    def __str__(self) -> str:
        return f"vector of {self.memory_id}"
