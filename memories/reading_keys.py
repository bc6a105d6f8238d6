"""Under which key a job reads for a character or for a group: one of each is active at a time (pure)."""

from __future__ import annotations

from uuid import UUID


def of_character(pk: UUID) -> str:
    """The job that reads for one character, alone or as a part of a batch."""
    return f"extract:{pk}"


def of_group(pk: UUID) -> str:
    """The batch that reads for each member of a group, or the job that reads for all of them together."""
    return f"extract:group:{pk}"
