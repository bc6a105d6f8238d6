"""The index: one row for each thing that can be found. Everything here can be made again from the other tables."""

from __future__ import annotations

from django.db import models

from accounts.ownership import OwnedModel, ScopedModel


class SearchContainer(OwnedModel):
    """A chat, a memory file or a book, and how far the index knows it.

    `wanted` is the version that was last seen, `version` the one that the index holds; they differ while it is behind.
    """

    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=40)
    wanted = models.CharField(max_length=100)
    version = models.CharField(max_length=100, blank=True)
    character = models.UUIDField(null=True, blank=True)
    chat = models.UUIDField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    entries_held = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["kind", "key"], name="one_container_per_key"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class SearchEntry(ScopedModel):
    """One searchable row. The database's own full-text index follows `words` and `scope` by itself (search/engines.py).

    `words` is the text as search/tokens.py cuts it, `scope` what filters look at (search/scope.py), `mark` a digest of
    what the row was made from.
    """

    owner_path = "container__owner"

    id = models.BigAutoField(primary_key=True)
    # The constraint below is an index that begins with the container.
    container = models.ForeignKey(SearchContainer, on_delete=models.CASCADE, related_name="entries", db_index=False)
    key = models.CharField(max_length=40)
    at = models.DateTimeField(null=True, blank=True)
    mark = models.CharField(max_length=16)
    words = models.TextField(blank=True)
    scope = models.CharField(max_length=120)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["container", "key"], name="one_entry_per_key"),)

    def __str__(self) -> str:
        return self.key
